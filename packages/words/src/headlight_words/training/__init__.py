"""Training of many models, in one process or several, each kept in a file when it is finished."""
