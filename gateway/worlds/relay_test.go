package worlds

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/queue"
)

// relay is one connection between an instance and a server: it takes the protocol messages of each direction apart,
// and a fault may strike each of them.
type relay struct {
	run       *run
	owner     *instance
	link      string
	account   string   // of an SMSC
	near, far net.Conn // the instance's and the server's

	mu     sync.Mutex
	change chan struct{} // closed and replaced when held or ended changes
	held   time.Time     // nothing passes before it
	ended  bool
	behind bool // a message is still on its way to the server
}

// read takes one message from a stream and names it.
type read func(r *bufio.Reader) (octets []byte, op string, err error)

// join connects an instance to a server. What the instance gets is one end of a pipe.
func (r *run) join(owner *instance, link, account string, far net.Conn) net.Conn {
	theirs, near := net.Pipe()
	c := &relay{run: r, owner: owner, link: link, account: account, near: near, far: far, change: make(chan struct{})}
	there, back := read(natsFromClient), read(natsFromServer)
	if link == smscLink {
		there, back = smppMessage, smppMessage
	}
	r.mu.Lock()
	r.relays[c] = struct{}{}
	r.mu.Unlock()
	var pumps sync.WaitGroup
	pumps.Go(func() { c.pump(near, far, there) })
	pumps.Go(func() { c.pump(far, near, back) })
	r.going.Go(func() {
		pumps.Wait()
		r.mu.Lock()
		delete(r.relays, c)
		r.mu.Unlock()
	})
	return theirs
}

// end closes both sides.
func (c *relay) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	close(c.change)
	c.change = make(chan struct{})
	_ = c.near.Close()
	if !c.behind {
		_ = c.far.Close()
	}
}

// straggle ends the connection for the instance, and brings one message to the server after a while all the same.
func (c *relay) straggle(octets []byte, after time.Duration) {
	c.mu.Lock()
	c.behind = !c.ended
	c.mu.Unlock()
	c.end()
	c.run.going.Go(func() {
		time.Sleep(after)
		_, _ = c.far.Write(octets) // the server may have ended it meanwhile
		_ = c.far.Close()
	})
}

// fence lets the server see a closed connection, and the instance a network that swallows everything.
func (c *relay) fence() { _ = c.far.Close() }

// hold lets nothing pass for a while.
func (c *relay) hold(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := time.Now().Add(d); until.After(c.held) {
		c.held = until
	}
}

// free waits until something may pass; false when the connection has ended.
func (c *relay) free() bool {
	for {
		c.mu.Lock()
		wait, ended, change := time.Until(c.held), c.ended, c.change
		c.mu.Unlock()
		if ended {
			return false
		}
		if wait <= 0 {
			return true
		}
		select {
		case <-time.After(wait):
		case <-change:
		}
	}
}

// passing is one protocol message, and what kind it is.
type passing struct {
	octets []byte
	op     string
}

// backlog is what a direction has read and not yet passed on: as much as there is, as a network's buffers would.
type backlog struct {
	mu     sync.Mutex
	queue  []passing
	ended  bool
	signal chan struct{} // holds one
}

func (b *backlog) put(p passing) {
	b.mu.Lock()
	b.queue = append(b.queue, p)
	b.mu.Unlock()
	b.wake()
}

func (b *backlog) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.wake()
}

func (b *backlog) wake() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *backlog) take() (p passing, ok bool) {
	for {
		b.mu.Lock()
		if len(b.queue) > 0 {
			p = b.queue[0]
			b.queue = b.queue[1:]
			b.mu.Unlock()
			return p, true
		}
		ended := b.ended
		b.mu.Unlock()
		if ended {
			return p, false
		}
		<-b.signal
	}
}

func (c *relay) pump(from, to net.Conn, next read) {
	b := &backlog{signal: make(chan struct{}, 1)}
	c.run.going.Go(func() { c.forward(b, to) })
	in := bufio.NewReader(from)
	for {
		octets, op, err := next(in)
		if err != nil {
			break
		}
		if c.owner.isFenced() {
			continue // nothing leaves its pipes
		}
		if op == opSubmit {
			c.run.submitted(c.owner, c.account, octets)
		}
		b.put(passing{octets, op})
	}
	b.end()
	if !c.owner.isFenced() {
		return
	}
	_ = c.near.Close()
}

// forward passes on what one direction has read. A fault strikes a message when everything before it has passed.
func (c *relay) forward(b *backlog, to net.Conn) {
	for {
		p, ok := b.take()
		if !ok || !c.free() {
			break
		}
		if c.owner.isFenced() || !c.strike(p.octets, p.op) {
			continue
		}
		if !c.free() { // it was struck by a delay
			break
		}
		if _, err := to.Write(p.octets); err != nil {
			break
		}
	}
	if !c.owner.isFenced() {
		c.end()
	}
}

// strike tells the run of a message, and carries out a fault that waited for it; it says whether the message passes.
func (c *relay) strike(octets []byte, op string) bool {
	f := c.run.due(c.owner, c.link, op)
	if f == nil {
		return true
	}
	switch f.kind {
	case drop:
		return false
	case cut:
		c.end()
		return false
	case delay:
		c.hold(f.length)
	case kill:
		c.run.fence(c.owner, f)
		return false
	case straggle:
		c.straggle(octets, f.length)
		return false
	case stop, stall, restart, pauseNATS, forget, full, rollback, failing, throttled, swallow, late, tardily, hangUp:
	}
	return true
}

// natsLine reads one line of the NATS protocol and the payload behind it.
func natsLine(r *bufio.Reader) (octets []byte, fields []string, payload []byte, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, nil, nil, err
	}
	fields = strings.Fields(string(line))
	if len(fields) == 0 {
		return line, nil, nil, nil
	}
	switch verb := strings.ToUpper(fields[0]); verb {
	case "PUB", "HPUB", "MSG", "HMSG":
		n, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil {
			return nil, nil, nil, err
		}
		octets = make([]byte, len(line)+n+2)
		copy(octets, line)
		if _, err := io.ReadFull(r, octets[len(line):]); err != nil {
			return nil, nil, nil, err
		}
		payload = octets[len(line) : len(line)+n]
		if verb[0] == 'H' {
			header, _ := strconv.Atoi(fields[len(fields)-2])
			payload = payload[min(header, n):]
		}
		return octets, fields, payload, nil
	}
	return line, fields, nil, nil
}

// natsFromClient reads what an instance writes.
func natsFromClient(r *bufio.Reader) ([]byte, string, error) {
	octets, fields, payload, err := natsLine(r)
	if err != nil || len(fields) < 2 {
		return octets, "", err
	}
	subject := fields[1]
	switch {
	case !strings.HasSuffix(strings.ToUpper(fields[0]), "PUB"):
		return octets, "", nil
	case strings.HasPrefix(subject, "$JS.ACK."):
		switch {
		case bytes.HasPrefix(payload, []byte("-NAK")):
			return octets, opNak, nil
		case bytes.HasPrefix(payload, []byte("+WPI")):
			return octets, "in progress", nil
		}
		return octets, opAck, nil
	case strings.HasPrefix(subject, "$JS.API.CONSUMER.MSG.NEXT."):
		return octets, opPull, nil
	case strings.HasSuffix(subject, ".probe"), strings.Contains(subject, ".probe."): // written to see whether it is stored
		return octets, "probe", nil
	case strings.HasPrefix(subject, "$KV.sluice_waiting."):
		return octets, opRecord, nil
	case strings.HasPrefix(subject, "$KV.sluice_final."):
		return octets, opFinal, nil
	case strings.HasPrefix(subject, "sms.evt."):
		if parts := strings.SplitN(subject, ".", 5); len(parts) == 5 && queue.EventType(parts[3]).Final() {
			return octets, opOutcome, nil
		}
		return octets, opEvent, nil
	}
	return octets, "other", nil
}

// confirmed says that a payload is the confirmation of a write to a stream.
func confirmed(payload []byte, stream string) bool {
	return bytes.HasPrefix(payload, []byte(`{"stream":"`+stream+`"`))
}

// natsFromServer reads what the server writes.
func natsFromServer(r *bufio.Reader) ([]byte, string, error) {
	octets, fields, payload, err := natsLine(r)
	if err != nil || len(fields) < 4 {
		return octets, "", err
	}
	switch {
	case !strings.HasSuffix(strings.ToUpper(fields[0]), "MSG"):
		return octets, "", nil
	case confirmed(payload, "SMS_EVENTS"), confirmed(payload, "KV_sluice_waiting"), confirmed(payload, "KV_sluice_final"):
		return octets, opConfirm, nil
	case strings.HasPrefix(fields[1], "_INBOX.") && strings.HasPrefix(fields[3], "$JS.ACK.SMS_MT."):
		return octets, opHandOut, nil
	case strings.HasPrefix(fields[1], "sms.mt."):
		return octets, opHandOut, nil
	}
	return octets, "other", nil
}

// The header of a PDU, SMPP 3.4 section 3.2.
const pduHeader = 16

func smppMessage(r *bufio.Reader) ([]byte, string, error) {
	var header [pduHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, "", err
	}
	length := binary.BigEndian.Uint32(header[:])
	octets := make([]byte, max(length, pduHeader))
	copy(octets, header[:])
	if _, err := io.ReadFull(r, octets[pduHeader:]); err != nil {
		return nil, "", err
	}
	switch binary.BigEndian.Uint32(header[4:]) {
	case 0x00000004:
		return octets, opSubmit, nil
	case 0x80000004:
		return octets, opSubmitResp, nil
	case 0x80000009:
		return octets, opBindResp, nil
	case 0x00000005:
		return octets, opDeliver, nil
	case 0x80000005:
		return octets, opReceiptAck, nil
	}
	return octets, "other", nil
}
