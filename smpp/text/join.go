package text

import (
	"errors"
	"fmt"
	"slices"
)

// maxPayload is the most octets that a TLV can carry.
const maxPayload = 1<<16 - 1

// join cuts a coded text into segments, as few as there can be.
func (o Options) join(c coded) (Encoded, error) {
	e := Encoded{DataCoding: c.dataCoding, Encoding: c.encoding, Language: c.language, Join: o.Join, Reference: o.Reference, Parts: 1}
	elements, err := o.elements(c)
	if err != nil {
		return Encoded{}, err
	}
	whole := c.unit.capacity(headerLen(len(elements)))
	if units := c.unit.count(c.octets); units <= whole {
		e.Segments = []Segment{segment(c, c.octets, units, part{}, elements)}
		return e, nil
	}

	if len(elements) > 0 && o.Join != JoinUDH16 {
		e.Join = JoinUDH8 // a header and another way to join are refused together
	}
	if hasElement(o.UDH, ieConcat8, ieConcat16) {
		return Encoded{}, errors.New("text: udh already holds a joining element, and the text does not fit one part: leave the element out")
	}
	// On air the parts of SAR and message_payload carry the header too: the SMSC adds it.
	onAir := max(e.Join.elementLen(), JoinUDH8.elementLen())
	capacity := c.unit.capacity(headerLen(len(elements)+onAir)) - o.Spare
	if capacity < 2 {
		return Encoded{}, fmt.Errorf("text: udh of %d octets leaves no room for the text: shorten it", len(o.UDH))
	}
	if e.Parts, err = o.countParts(c, capacity); err != nil {
		return Encoded{}, err
	}
	if e.Join == JoinPayload {
		return e.payload(c)
	}

	e.Segments = make([]Segment, 0, e.Parts)
	p := part{join: e.Join, reference: o.Reference, total: byte(e.Parts)}
	for rest := c.octets; len(rest) > 0; {
		n, units := c.unit.take(rest, capacity)
		p.number++
		e.Segments = append(e.Segments, segment(c, rest[:n], units, p, elements))
		rest = rest[n:]
	}
	return e, nil
}

// elements returns what the header holds besides the joining element: the message's own header, then the language.
func (o Options) elements(c coded) ([]byte, error) {
	var elements []byte
	if len(o.UDH) > 0 {
		elements = o.UDH[1:]
	}
	if c.language == NoLanguage {
		return elements, nil
	}
	if hasElement(o.UDH, ieSingleShift, ieLockingShift) {
		return nil, errors.New("text: udh names a language, and so does the text: leave the element out")
	}
	return append(slices.Clip(elements), ieSingleShift, 1, byte(c.language)), nil
}

// countParts counts the parts of a text that does not fit one.
func (o Options) countParts(c coded, capacity int) (int, error) {
	most := o.MaxParts
	if most == 0 {
		most = MaxParts
	}
	parts := 0
	for rest := c.octets; len(rest) > 0; parts++ {
		if parts == most {
			return 0, &TooLongError{Units: c.unit.count(c.octets), Max: most}
		}
		n, _ := c.unit.take(rest, capacity)
		rest = rest[n:]
	}
	return parts, nil
}

// payload makes the one segment whose data goes into message_payload.
func (e Encoded) payload(c coded) (Encoded, error) {
	s := segment(c, c.octets, c.unit.count(c.octets), part{}, nil)
	if len(s.Data) > maxPayload {
		return Encoded{}, fmt.Errorf("text: message_payload would have %d octets: the most is %d", len(s.Data), maxPayload)
	}
	e.Segments = []Segment{s}
	return e, nil
}

// segment builds one segment. Text that needs neither header nor packing stays where it is.
func segment(c coded, octets []byte, units int, p part, elements []byte) Segment {
	header := headerLen(p.elementLen() + len(elements))
	if header == 0 && c.unit != packedSeptet {
		return Segment{ShortMessage: octets, Data: octets, Units: units}
	}
	size := header + len(octets)
	if c.unit == packedSeptet {
		size = header + packedLen(len(octets), header)
	}
	b := make([]byte, 0, size)
	if header > 0 {
		b = append(b, byte(header-1))
		b = p.appendElement(b)
		b = append(b, elements...)
	}
	if c.unit == packedSeptet {
		b = appendPacked(b, octets, header)
	} else {
		b = append(b, octets...)
	}
	return Segment{ShortMessage: b, UDH: b[:header:header], Data: b[header:], Units: units}
}
