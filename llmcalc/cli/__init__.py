"""The command line: signatures, printing and manners. Bodies import what they need."""
