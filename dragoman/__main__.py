"""The program `dragoman`, also run as `python -m dragoman` and `torchrun -m dragoman`."""

import atexit
import gc
import sys


def main() -> None:
    """Run the command line. Ctrl-C is reported in one line even while modules are being imported."""
    atexit.register(gc.freeze)  # a garbage collection over all of torch would take half a second at exit
    try:
        from dragoman.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
