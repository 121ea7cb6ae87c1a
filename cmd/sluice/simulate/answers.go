package simulate

// answers is a heap, soonest first. It is hand-made because container/heap allocates for each answer.
type answers []answer

func (a *answer) before(b *answer) bool { return a.due < b.due || a.due == b.due && a.order < b.order }

func (h *answers) push(a answer) {
	*h = append(*h, a)
	q := *h
	for i := len(q) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q[i].before(&q[parent]) {
			return
		}
		q[i], q[parent] = q[parent], q[i]
		i = parent
	}
}

func (h *answers) pop() answer {
	q := *h
	top, last := q[0], len(q)-1
	q[0] = q[last]
	q = q[:last]
	*h = q
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&q[i]) {
			return top
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
