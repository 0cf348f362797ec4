"""What `python -m benchmarks.shape` counts, on the tree as it is."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks import shape


def test_the_tree_is_counted_and_one_table_is_followed_through_it() -> None:
    with shape.now() as tree:
        counted = shape.table(tree)
    assert all(counted.values())
    passed = re.fullmatch(r"(\d+) functions in (\d+) modules", counted["one table, declaration to fix"])
    assert passed
    assert int(passed[1]) > int(passed[2]) > 50  # the commands ran to their end


def test_an_import_of_what_is_above_or_beside_in_another_folder_is_found(tmp_path: Path) -> None:
    library = tmp_path / shape.LIBRARY
    for name, text in {
        "errors.py": "",
        "model/facts.py": "from holdfast.errors import InputError\nfrom holdfast.rules import base\n",
        "rules/base.py": "import holdfast.model.facts\n\ndef late():\n    from holdfast.audit import audit\n",
        "audit/audit.py": "",
        "fix/plan.py": "from holdfast.audit.audit import audit\n",
        "kinds/table/declaration.py": "from holdfast.kinds.table import construct\n",
        "kinds/table/construct.py": "from holdfast.kinds.table import declaration\n",
        "aws/reader.py": "from holdfast.report import text\n",
        "report/text.py": "",
    }.items():
        path = library / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert [str(i) for i in shape.upward(tmp_path)] == [
        "aws/reader:1 imports report/text",
        "kinds/table/declaration:1 imports kinds/table/construct",
        "model/facts:2 imports rules/base",
        "rules/base:4 imports audit/audit",
    ]
    assert shape.unplaced(tmp_path) == []
