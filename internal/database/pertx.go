package database

// PerTx is state that its owner has in every transaction, from first use to the end
// of the transaction. It is a field of its owner, so that whoever reads the owner
// sees it, and nobody else can reach it. Its zero value is ready; do not copy it.
type PerTx[T any] struct{ _ byte } // not empty: the address tells one from another

// txState is the state of one owner.
type txState struct{ owner, value any }

// In is the state in a transaction: at first the zero value.
func (p *PerTx[T]) In(tx *Tx) *T {
	for _, s := range tx.states {
		if s.owner == p {
			return s.value.(*T)
		}
	}
	value := new(T)
	tx.states = append(tx.states, txState{p, value})
	return value
}
