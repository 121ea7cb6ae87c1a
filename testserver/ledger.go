package testserver

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	"sluice/smpp/pdu"
)

// Record is one submit_sm as the SMSC saw it.
type Record struct {
	// Number counts the submits from 1.
	Number uint64 `json:"number"`
	// Time is when it was read.
	Time time.Time `json:"time"`
	// Bind is the number of the session, from 1; SystemID is its account.
	Bind     int    `json:"bind"`
	SystemID string `json:"system_id"`
	// Sequence is its sequence_number.
	Sequence    uint32 `json:"sequence"`
	Destination string `json:"destination"`
	// Reference is its user_message_reference (TLV 0x0204), -1 when there was none.
	Reference int `json:"user_message_reference"`
	// Key tells the same message again: a hash of user_message_reference, destination, and text (short_message, or
	// message_payload), as 16 hex digits. Two messages that agree in all three have the same key.
	Key string `json:"key"`
	// MessageID is the id given to it; empty when it was not accepted.
	MessageID string `json:"message_id"`
	// Status is what it was answered with, or would have been. Nack says that the answer was generic_nack.
	Status pdu.Status `json:"command_status"`
	Nack   bool       `json:"nack,omitempty"`
	// Answered says that the response was handed to the connection; whether the client saw it is not known here.
	Answered bool `json:"answered"`
	// Duplicate says that a submit with the same key was accepted before, as this one was.
	Duplicate bool `json:"duplicate"`
	// PDU is the whole submit_sm in hex, when the ledger keeps PDUs.
	PDU string `json:"pdu,omitempty"`
}

// Entry is a Record as RecordTo writes it: before its answer, with what the answer will suffer from.
type Entry struct {
	Record
	// Swallowed says that no answer will be sent.
	Swallowed bool `json:"swallowed,omitempty"`
	// LateMillis is by how many milliseconds a fault delays the answer.
	LateMillis int64 `json:"late_ms,omitempty"`
}

// RecordTo writes every submit from now on to w too, as one Entry in JSON on a line, before its answer leaves: what is
// in a file then outlives a server that is killed. A write that fails is reported by RecordError, and ends it.
func (s *Server) RecordTo(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.sink, s.ledger.sinkFault = json.NewEncoder(w), nil
}

// RecordError is why a line could not be written, and nil while all could.
func (s *Server) RecordError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.sinkFault
}

// write writes the line of a submit.
func (l *ledger) write(e *Entry) {
	if l.sinkFault == nil {
		l.sinkFault = l.sink.Encode(e)
	}
}

// entry is a Record in few octets.
type entry struct {
	at          time.Time
	destination string
	account     *account
	pdu         []byte
	key         uint64
	message     uint64 // number of the message id, 0 when not accepted
	sequence    uint32
	status      pdu.Status
	bind        int32
	reference   int32
	nack        bool
	answered    bool
	duplicate   bool
}

// The bounds of a ledger when the scenario names none.
const (
	defaultRecords = 1_000_000
	defaultKeys    = 4_000_000
)

// ledger remembers the newest submits and the keys of those accepted. It is guarded by the server's mutex.
type ledger struct {
	records, keys int       // bounds; none when negative
	chunks        [][]entry // of the newest entries, a ring once it is full
	kept          int       // entries in chunks
	next          uint64    // number of the next submit, from 1
	seen          map[uint64]struct{}
	order         []uint64 // keys by age, a ring once it is full
	oldest        int
	unique        uint64
	duplicated    uint64
	sink          *json.Encoder // where each submit is written too, nil for nowhere
	sinkFault     error
}

func newLedger(c LedgerConfig) ledger {
	l := ledger{records: c.Records, keys: c.Keys, next: 1}
	if l.records == 0 {
		l.records = defaultRecords
	}
	if l.keys == 0 {
		l.keys = defaultKeys
	}
	if l.keys > 0 {
		l.seen = make(map[uint64]struct{})
	}
	return l
}

// accept notes the key of an accepted submit and reports whether it was accepted before.
func (l *ledger) accept(key uint64) bool {
	if l.keys < 0 {
		return false
	}
	before := len(l.seen)
	l.seen[key] = struct{}{}
	if len(l.seen) == before { // cheaper than to ask first
		l.duplicated++
		return true
	}
	l.unique++
	if len(l.order) < l.keys {
		l.order = append(l.order, key)
		return false
	}
	delete(l.seen, l.order[l.oldest])
	l.order[l.oldest] = key
	l.oldest = (l.oldest + 1) % len(l.order)
	return false
}

// chunk is how many entries are allocated together: growing one large slice would stop the server for its copy.
const chunk = 4096

// add stores a submit and returns its number.
func (l *ledger) add(e entry) uint64 {
	number := l.next
	l.next++
	if l.records < 0 {
		return number
	}
	if l.kept < l.records {
		if l.kept%chunk == 0 {
			l.chunks = append(l.chunks, make([]entry, min(chunk, l.records-l.kept)))
		}
		l.kept++
	}
	*l.place(number) = e
	return number
}

func (l *ledger) place(number uint64) *entry {
	index := int((number - 1) % uint64(l.records))
	return &l.chunks[index/chunk][index%chunk]
}

// at is the entry of a number, nil when it is not kept.
func (l *ledger) at(number uint64) *entry {
	if number == 0 || number >= l.next || number+uint64(l.kept) < l.next {
		return nil
	}
	return l.place(number)
}

func (l *ledger) answered(number uint64) {
	if e := l.at(number); e != nil {
		e.answered = true
	}
}

// Query selects records; a field that is not set selects all.
type Query struct {
	After       uint64 // records with a higher number
	SystemID    string
	Destination string
	Key         string
	Status      *pdu.Status
	Duplicate   bool // only duplicates
	Unanswered  bool // only those without an answer
	Limit       int  // at most so many, the oldest first; 0 is all
}

func (q *Query) selects(r *Record) bool {
	return (q.SystemID == "" || q.SystemID == r.SystemID) &&
		(q.Destination == "" || q.Destination == r.Destination) &&
		(q.Key == "" || q.Key == r.Key) &&
		(q.Status == nil || *q.Status == r.Status) &&
		(!q.Duplicate || r.Duplicate) &&
		(!q.Unanswered || !r.Answered)
}

// Ledger returns every submit that is still remembered, the oldest first.
func (s *Server) Ledger() []Record { return s.Records(Query{}) }

// Records returns the submits that q selects among those still remembered, the oldest first.
func (s *Server) Records(q Query) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.ledger
	found := []Record{}
	for number := max(q.After+1, l.next-uint64(l.kept)); number < l.next; number++ {
		r := s.record(number, l.at(number))
		if q.selects(&r) {
			found = append(found, r)
		}
		if q.Limit > 0 && len(found) == q.Limit {
			break
		}
	}
	return found
}

func (s *Server) record(number uint64, e *entry) Record {
	var key [16]byte
	for i := range key {
		key[i] = "0123456789abcdef"[e.key>>(60-4*i)&0xF]
	}
	r := Record{
		Number: number, Time: e.at, Bind: int(e.bind), SystemID: e.account.systemID, Sequence: e.sequence,
		Destination: e.destination, Reference: int(e.reference), Key: string(key[:]), Status: e.status,
		Nack: e.nack, Answered: e.answered, Duplicate: e.duplicate, PDU: hex.EncodeToString(e.pdu),
	}
	if e.message != 0 {
		r.MessageID = string(s.sc.MessageID.Format.format(nil, e.message, s.sc.MessageID.Width))
	}
	return r
}

// The FNV-1a hash of 64 bits, inlined: package hash/fnv allocates.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func hashOctets(hash uint64, octets []byte) uint64 {
	for _, c := range octets {
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	return (hash ^ 0x1FF) * fnvPrime // ends the field, so that "1","23" differs from "12","3"
}

// deliveryKey is the key of Record and the user_message_reference, -1 when there is none.
func deliveryKey(sm *pdu.SubmitSM) (key uint64, reference int32) {
	reference = -1
	key = fnvOffset
	if value, ok := sm.TLVs.Get(pdu.TagUserMessageReference); ok {
		key = hashOctets(key, value)
		if len(value) == 2 {
			reference = int32(value[0])<<8 | int32(value[1])
		}
	}
	key = hashOctets(key, sm.Dest.Addr)
	text := sm.ShortMessage
	if payload, ok := sm.TLVs.Get(pdu.TagMessagePayload); ok && len(text) == 0 {
		text = payload
	}
	return hashOctets(key, text), reference
}
