"""What tests share: naive twins typed from the paper, mpmath truth, fixtures, stored files."""
