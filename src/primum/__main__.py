"""``python -m primum`` is the command ``primum``."""

from primum.cli import main

if __name__ == "__main__":
    main()
