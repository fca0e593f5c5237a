"""`python -m deeptheory`, for where the command is not on the path."""

import sys

from deeptheory.cli import main

sys.exit(main())
