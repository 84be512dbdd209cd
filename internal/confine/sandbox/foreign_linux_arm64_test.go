package sandbox_test

// foreignCall does nothing: this architecture's kernel may lack a second interface.
func foreignCall(string) int { return 0 }
