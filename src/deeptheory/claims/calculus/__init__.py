"""Claims about calculus."""
