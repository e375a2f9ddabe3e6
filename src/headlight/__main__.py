"""``python -m headlight``: the command line, where the command ``headlight`` is not on the path."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path.pop(0)  # the working folder, in which the command does not look for modules either

    from headlight.cli.program import main

    main()
