"""The ``tablemend`` command."""
