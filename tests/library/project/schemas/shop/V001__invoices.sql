create table invoice (id bigint primary key, customer text not null);
