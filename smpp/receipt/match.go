package receipt

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Format is how an SMSC writes message ids in one place: in its responses, or in its receipts.
type Format uint8

// The formats. Opaque, the zero value, takes an id as it is.
const (
	Opaque Format = iota
	Hex           // hexadecimal number
	Dec           // decimal number
)

// String returns the word of the configuration.
func (f Format) String() string {
	switch f {
	case Opaque:
		return "opaque"
	case Hex:
		return "hex"
	case Dec:
		return "dec"
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// MarshalText writes the word of the configuration.
func (f Format) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (f *Format) UnmarshalText(b []byte) error {
	for _, known := range []Format{Opaque, Hex, Dec} {
		if string(b) == known.String() {
			*f = known
			return nil
		}
	}
	return fmt.Errorf("id format %q is not known: write one of opaque, hex, dec", b)
}

// Matching is how the ids of an account's receipts relate to those of its responses. Numbers are converted only where
// both formats are set and differ: "12345678" is a number either way, of two different messages.
type Matching struct {
	Response, Receipt Format
}

// ResponseKeys returns the keys under which to remember the id of a response, best first.
func (m Matching) ResponseKeys(id string) []string { return Keys(id, m.effective(m.Response)) }

// ReceiptKeys returns the keys under which to look for the id of a receipt, best first.
func (m Matching) ReceiptKeys(id string) []string { return Keys(id, m.effective(m.Receipt)) }

// ResponseKey returns the canonical key of the id of a response, for an index with one key a message.
func (m Matching) ResponseKey(id string) string { return Canonical(id, m.effective(m.Response)) }

// ReceiptKey returns the canonical key of the id of a receipt.
func (m Matching) ReceiptKey(id string) string { return Canonical(id, m.effective(m.Receipt)) }

// Rank says how well the id of a receipt fits that of a response: 0 is exactly, or as the same number where numbers are
// converted; 1 is in lower case, 2 without leading zeros. It returns false when they do not fit.
func (m Matching) Rank(response, receipt string) (rank int, ok bool) {
	return Lookup{ID: receipt, matching: m, form: m.effective(m.Receipt)}.Rank(response)
}

// Lookup is one way to look for the message of a receipt: an id that it has, read in one form.
type Lookup struct {
	ID       string
	matching Matching
	form     Format
}

// Lookups lists the ways to look for the message of a receipt with the given ids, best first; empty ids are passed
// over. An id is read as receipts write it. It is also read as responses write it where it is no number of the
// receipts' form, or where there are several: then one of them may well be the response's own.
func (m Matching) Lookups(ids ...string) (list []Lookup) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	form, other := m.effective(m.Receipt), m.effective(m.Response)
	for _, id := range ids {
		list = append(list, Lookup{id, m, form})
	}
	for _, id := range ids {
		if _, number := numberKey(id, form); form != other && (!number || len(ids) > 1) {
			list = append(list, Lookup{id, m, other})
		}
	}
	return list
}

// Key returns the canonical key of the id.
func (l Lookup) Key() string { return Canonical(l.ID, l.form) }

// Rank is [Matching.Rank] for the id as it is read here.
func (l Lookup) Rank(response string) (rank int, ok bool) {
	asked, had := Keys(l.ID, l.form), l.matching.ResponseKeys(response)
	switch {
	case asked[0] == had[0]:
		return 0, true
	case asked[len(asked)-1] != had[len(had)-1]:
		return 0, false
	case strings.EqualFold(response, l.ID):
		return 1, true
	}
	return 2, true
}

// effective returns a format, or Opaque where there is nothing to convert between.
func (m Matching) effective(f Format) Format {
	if m.Response == Opaque || m.Receipt == Opaque || m.Response == m.Receipt {
		return Opaque
	}
	return f
}

// Keys returns the keys of an id, best first and without repeats: as it is; in lower case; without leading zeros when
// it is all digits or hexadecimal digits. An id that its format says is a number has one key only, its value, because
// as a string it may equal the id of another message. Of a UUID nothing but the case is altered.
func Keys(id string, f Format) []string {
	if isUUID(id) {
		if lower := strings.ToLower(id); lower != id {
			return []string{id, lower}
		}
		return []string{id}
	}
	if k, ok := numberKey(id, f); ok {
		return []string{k}
	}
	keys := []string{id}
	lower := strings.ToLower(id)
	if lower != id {
		keys = append(keys, lower)
	}
	if bare := withoutZeros(lower); bare != lower {
		keys = append(keys, bare)
	}
	return keys
}

// Canonical returns the last and loosest key of an id. Ids that agree by any rule have the same one; where two
// messages share it, the better keys tell them apart.
func Canonical(id string, f Format) string {
	keys := Keys(id, f)
	return keys[len(keys)-1]
}

// maxNumber is the most digits of a number: message_id has 65 octets with its NUL (SMPP 3.4 section 5.2.23).
const maxNumber = 64

// numberKey returns the key of an id that is a number in its format. Its mark keeps it apart from all ids that are
// taken as they are.
func numberKey(id string, f Format) (string, bool) {
	if len(id) > maxNumber {
		return "", false
	}
	var base int
	switch f {
	case Opaque:
		return "", false
	case Hex:
		base = 16
		if !isHex(id) {
			return "", false
		}
	case Dec:
		base = 10
		if !isDigits(id) {
			return "", false
		}
	}
	n, ok := new(big.Int).SetString(id, base)
	if !ok {
		return "", false
	}
	return "#" + n.Text(16), true
}

// withoutZeros drops the leading zeros of a number of decimal or hexadecimal digits, but for the last digit.
func withoutZeros(s string) string {
	if !isHex(s) {
		return s
	}
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return s
}

// isHex reports whether s has nothing but hexadecimal digits, and one at least.
func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}

// isUUID reports whether s has the form of a UUID, dashes included.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, from := range []int{0, 9, 14, 19, 24} {
		to := []int{8, 13, 18, 23, 36}[i]
		if !isHex(s[from:to]) || to < 36 && s[to] != '-' {
			return false
		}
	}
	return true
}
