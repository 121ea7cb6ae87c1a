package gateway

import "sync"

// turn lets one goroutine at a time work on a message. Waiting for it may take as long as network I/O does, which a
// mutex is not made for. The zero value is free.
type turn struct {
	mu    sync.Mutex
	taken bool
	given chan struct{} // closed when the turn is given back; nil while nobody waits
}

// take waits until nobody else works on the message.
func (t *turn) take() {
	for {
		t.mu.Lock()
		if !t.taken {
			t.taken = true
			t.mu.Unlock()
			return
		}
		if t.given == nil {
			t.given = make(chan struct{})
		}
		given := t.given
		t.mu.Unlock()
		<-given
	}
}

// give ends the work on the message.
func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
	if t.given != nil {
		close(t.given)
		t.given = nil
	}
}
