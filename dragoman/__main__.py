"""The program `dragoman`, also as `python -m dragoman` and `torchrun -m dragoman`."""

import atexit
import gc
import sys


def main() -> None:
    """Run the command line. What it imports takes a moment, in which Ctrl-C is told in a line too."""
    atexit.register(gc.freeze)  # looking for garbage in all of torch would keep a command for half a second at its end
    try:
        from dragoman.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
