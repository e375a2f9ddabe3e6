"""What a classifier's answers lose when its attention is permuted, made uniform, or put on one."""
