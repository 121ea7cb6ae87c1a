package queue

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"time"
)

// Decode reads the JSON contract. A field that the contract does not have is an
// [*UnknownFieldError]; everything else that is wrong is a [*MalformedError].
// Names are matched exactly, and a field given twice is a fault: what was meant
// cannot be known.
func Decode(b []byte) (*Message, error) {
	m, err := decode(b)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// decode returns what it could read beside the first error, for the sake of the
// id.
func decode(b []byte) (*Message, error) {
	d := decoder{message: new(Message)}
	if err := eachMember(b, d.member); err != nil {
		return d.message, asMalformed("", err)
	}
	if d.fault != nil {
		return d.message, d.fault
	}
	d.message.dropEmpty()
	return d.message, d.message.Validate()
}

// dropEmpty makes what may be empty and is given so the same as what is left out.
func (m *Message) dropEmpty() {
	if len(m.Meta) == 0 {
		m.Meta = nil
	}
	if len(m.TLVs) == 0 {
		m.TLVs = nil
	}
	if len(m.UDH) == 0 {
		m.UDH = nil
	}
}

type decoder struct {
	message *Message
	names   [32]string // more than the contract has
	seen    int
	fault   error // the first
}

func (d *decoder) member(name string, value []byte) error {
	var err error
	if slices.Contains(d.names[:d.seen], name) {
		err = &MalformedError{Field: name, Fault: "given twice"}
	} else if err = d.field(name, value); err == nil {
		d.names[d.seen] = name
		d.seen++
	}
	if err != nil && d.fault == nil {
		d.fault = asMalformed(name, err)
	}
	return nil
}

// asMalformed names the field of a fault, unless the error says it already.
func asMalformed(field string, err error) error {
	var unknown *UnknownFieldError
	var malformed *MalformedError
	if errors.As(err, &unknown) || errors.As(err, &malformed) {
		return err
	}
	return &MalformedError{Field: field, Fault: err.Error()}
}

func (d *decoder) field(name string, value []byte) (err error) {
	m := d.message
	switch name {
	case "v":
		err = decodeVersion(value)
	case "id":
		m.ID, err = decodeString(value)
	case "from":
		m.From, err = decodeString(value)
	case "from_ton":
		m.FromTON, err = decodeOctet(value)
	case "from_npi":
		m.FromNPI, err = decodeOctet(value)
	case "to":
		m.To, err = decodeString(value)
	case "to_ton":
		m.ToTON, err = decodeOctet(value)
	case "to_npi":
		m.ToNPI, err = decodeOctet(value)
	case "text":
		m.Text, err = decodeString(value)
	case "data":
		m.Data, err = decodeBase64(value)
	case "data_coding":
		m.DataCoding, err = decodeOctet(value)
	case "encoding":
		m.Encoding, err = decodeWord[Encoding](value)
	case "udh":
		m.UDH, err = decodeHex(value)
	case "receipt":
		m.Receipt, m.ReceiptFor, err = decodeReceipt(value)
	case "flash":
		m.Flash, err = decodeBool(value)
	case "expires_in":
		m.ExpiresIn, err = decodeDuration(value)
	case "expires_at":
		m.ExpiresAt, err = decodeTime(value)
	case "if_unknown":
		m.IfUnknown, err = decodeWord[UnknownPolicy](value)
	case "service_type":
		m.ServiceType, err = decodeString(value)
	case "protocol_id":
		m.ProtocolID, err = decodeOctet(value)
	case "priority_flag":
		m.PriorityFlag, err = decodeOctet(value)
	case "replace_if_present":
		m.ReplaceIfPresent, err = decodeBool(value)
	case "tlvs":
		m.TLVs, err = decodeTLVs(value)
	case "tenant":
		m.Tenant, err = decodeString(value)
	case "meta":
		m.Meta, err = decodeMeta(value)
	default:
		return unknownField("", name)
	}
	return err
}

// decodeVersion takes a higher version for a newer producer: its messages can
// be replayed once this gateway is newer too.
func decodeVersion(value []byte) error {
	v, err := strconv.Atoi(string(value))
	switch {
	case err != nil || v < 1:
		return errors.New("want the number 1")
	case v > ContractVersion:
		return &UnknownFieldError{Field: "v"}
	default:
		return nil
	}
}

func decodeString(value []byte) (string, error) {
	if value[0] != '"' {
		return "", errors.New("want a string")
	}
	s, err := unquote(value)
	if err != nil {
		return "", errors.New("want a string in UTF-8")
	}
	return s, nil
}

func decodeWord[T ~string](value []byte) (T, error) {
	s, err := decodeString(value)
	return T(s), err
}

func decodeOctet(value []byte) (*uint8, error) {
	n, err := strconv.ParseUint(string(value), 10, 8)
	if err != nil {
		return nil, errors.New("want a number from 0 to 255")
	}
	octet := uint8(n)
	return &octet, nil
}

func decodeReceipt(value []byte) (asked bool, which ReceiptFor, err error) {
	switch string(value) {
	case "true":
		return true, ReceiptFinal, nil
	case "false":
		return false, ReceiptFinal, nil
	case `"failure"`:
		return true, ReceiptFailure, nil
	case `"intermediate"`:
		return true, ReceiptIntermediate, nil
	}
	return false, ReceiptFinal, errors.New(`want true, false, "failure" or "intermediate"`)
}

func decodeBool(value []byte) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, errors.New("want true or false")
	}
}

func decodeBase64(value []byte) ([]byte, error) {
	s, err := decodeString(value)
	if err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, errors.New("want standard base64")
	}
	return b, nil
}

func decodeHex(value []byte) ([]byte, error) {
	s, err := decodeString(value)
	if err != nil {
		return nil, err
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil, errors.New("want hexadecimal digits, two for each octet")
	}
	return b, nil
}

func decodeDuration(value []byte) (time.Duration, error) {
	s, err := decodeString(value)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > maxValidity {
		return 0, errors.New(`want a duration above 0 and up to 168h, such as "15m"`)
	}
	return d, nil
}

func decodeTime(value []byte) (time.Time, error) {
	s, err := decodeString(value)
	if err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.IsZero() {
		return time.Time{}, errors.New(`want a time as in RFC 3339, such as "2026-11-30T08:15:00Z"`)
	}
	return t.UTC(), nil
}

func decodeTLVs(value []byte) ([]TLV, error) {
	if value[0] != '[' {
		return nil, errors.New(`want a list of {"tag": ..., "hex": ...}`)
	}
	var tlvs []TLV
	err := eachElement(value, func(element []byte) error {
		t, err := decodeTLV(element)
		tlvs = append(tlvs, t)
		return err
	})
	return tlvs, err
}

func decodeTLV(element []byte) (TLV, error) {
	var t TLV
	if element[0] != '{' {
		return t, errors.New(`want a list of {"tag": ..., "hex": ...}`)
	}
	err := eachMember(element, func(name string, value []byte) (err error) {
		switch name {
		case "tag":
			if isDigit(value[0]) {
				t.Tag = string(value)
				return nil
			}
			t.Tag, err = decodeString(value)
		case "hex":
			t.Value, err = decodeHex(value)
		default:
			return unknownField("tlvs.", name)
		}
		return err
	})
	return t, err
}

func decodeMeta(value []byte) (map[string]string, error) {
	if value[0] != '{' {
		return nil, errors.New("want an object of strings")
	}
	meta := make(map[string]string)
	err := eachMember(value, func(name string, value []byte) error {
		s, err := decodeString(value)
		if err != nil {
			return errors.New("want an object of strings")
		}
		if _, twice := meta[name]; twice {
			return errors.New("a name is given twice")
		}
		meta[name] = s
		return nil
	})
	return meta, err
}

// Limits of a name that a stranger chose and that is shown.
const (
	maxShownName   = 32
	maxShownDigits = 4
)

// unknownField names a field only when it looks like one: a misplaced comma can
// make a field's name of a text or a number.
func unknownField(parent, name string) error {
	digits := 0
	for i := range len(name) {
		switch c := name[i]; {
		case isDigit(c) && i > 0:
			digits++
		case c == '_', isAlphanumeric(c) && !isDigit(c):
		default:
			return &UnknownFieldError{}
		}
	}
	if name == "" || len(name) > maxShownName || digits > maxShownDigits {
		return &UnknownFieldError{}
	}
	return &UnknownFieldError{Field: parent + name}
}
