"""Run the command ``primum`` as ``python -m primum``."""

from primum.cli import main

if __name__ == "__main__":
    main()
