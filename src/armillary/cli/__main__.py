"""`python -m armillary.cli`: the command line of the interpreter at hand, whatever the search path of commands says."""

from armillary.cli.main import main

main()
