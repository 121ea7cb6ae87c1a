package grid

import "sluice/cmd/sluice/policy"

type eventKind uint8

const (
	arrival  eventKind = iota // at the SMSC
	answered                  // at the sender
	wake                      // the policy may let a message go
	incoming                  // a message for the queue
	requeue                   // a refused message is due again
	disconnect
	reconnect
	served // the SMSC is done with it
)

type event struct {
	at     float64 // seconds
	order  int64   // among those of the same time
	kind   eventKind
	answer status
	sender int32
	life   int32 // of the connection; an older one is gone
	tries  int32 // refusals of the message so far
	index  int32 // among the sender's messages in flight, where these are kept
	sent   policy.Sent
}

func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// events is a heap, soonest first. It is hand-made because container/heap allocates for each event.
type events []event

func (h *events) push(e event) {
	*h = append(*h, e)
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

func (h *events) pop() event {
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
