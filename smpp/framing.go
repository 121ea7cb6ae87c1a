package smpp

import "sluice/smpp/pdu"

const (
	firstFrameBuffer = 64 << 10
	// comfortableRead is the least room a read is given when moving what is
	// buffered to the front can provide it.
	comfortableRead = 4 << 10
)

// framer cuts a stream into PDUs, however the stream was cut into reads. It
// looks at command_length alone, and makes no room for a PDU before its length
// was found possible.
type framer struct {
	buf        []byte
	start, end int // what was read and not yet cut lies between
	max        int // longest PDU, in octets
	need       int // length of the PDU at start when it is not complete, else 0
}

func newFramer(longest int) *framer {
	return &framer{buf: make([]byte, min(firstFrameBuffer, longest)), max: longest}
}

// space returns room for the next read, at least one octet. It may move what is
// buffered: frames returned by next are not valid after it.
func (f *framer) space() []byte {
	if f.start == f.end {
		f.start, f.end = 0, 0
	}
	if f.need > len(f.buf) {
		grown := make([]byte, f.need)
		f.end = copy(grown, f.buf[f.start:f.end])
		f.buf, f.start = grown, 0
	}
	if f.start > 0 && len(f.buf)-f.end < comfortableRead {
		f.end = copy(f.buf, f.buf[f.start:f.end])
		f.start = 0
	}
	return f.buf[f.end:]
}

// filled says how much of the space was read into.
func (f *framer) filled(n int) { f.end += n }

// begun reports whether a part of a PDU is buffered and waits for the rest.
func (f *framer) begun() bool { return f.end > f.start }

// next returns the next whole PDU, or nil when more has to be read first. An
// error, which wraps a *pdu.LengthError, means that the stream is broken.
func (f *framer) next() ([]byte, error) {
	have := f.buf[f.start:f.end]
	f.need = 0
	if len(have) < 4 {
		return nil, nil
	}
	n, err := pdu.CheckLength(have, f.max)
	if err != nil {
		return nil, err
	}
	if len(have) < n {
		f.need = n
		return nil, nil
	}
	f.start += n
	return have[:n:n], nil
}
