create table invoice (id bigint primary key, customer text not null);
create table payment (id bigint not null, paid_at timestamptz not null) partition by range (paid_at);
