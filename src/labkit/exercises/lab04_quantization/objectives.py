"""Lab 04: the three objectives that its exercises serve."""

WRITE = "quantize a matrix and bound the error"
BYTES = "say what fewer bytes can buy"
LOSS = "measure the loss and decide"

# Modules that would give the answer away.
ENGINE = ("labkit.sizing", "labkit.catalog")
