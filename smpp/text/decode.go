package text

import "fmt"

// Decode reads the text of a short message. data is the whole short_message or message_payload; udhi says whether it
// begins with a header, which Decode passes over (see ParseHeader). def is the account's default alphabet.
//
// Octets that the alphabet does not have become U+FFFD. The errors are ErrBinary, ErrUnsupported, ErrOddUCS2 and
// ErrHeader, to be tested with errors.Is: such data is still worth handing on as octets.
func Decode(dataCoding byte, data []byte, udhi bool, def Alphabet) (string, error) {
	return DecodeParts(dataCoding, [][]byte{data}, udhi, def)
}

// DecodeParts reads a text from all its parts, in order. It is for texts of other senders, whose parts may end within
// an escape or surrogate pair.
func DecodeParts(dataCoding byte, parts [][]byte, udhi bool, def Alphabet) (string, error) {
	u, ok := unitOf(dataCoding, def)
	if !ok {
		return "", fmt.Errorf("text: data_coding 0x%02X: %w", dataCoding, ErrUnsupported)
	}
	if u == octet {
		return "", fmt.Errorf("text: data_coding 0x%02X: %w", dataCoding, ErrBinary)
	}
	var language Language
	var all []byte
	for _, data := range parts {
		var udh []byte
		if udhi {
			h, err := decodeHeader(data)
			if err != nil {
				return "", err
			}
			language = max(language, h.SingleShift)
			udh, data, _ = SplitHeader(data)
		}
		if u == packedSeptet {
			data = unpack(data, len(udh))
		}
		all = append(all, data...)
	}
	switch u {
	case septet, packedSeptet:
		return decodeSeptets(all, language), nil
	case utf16Unit:
		if len(all)%2 != 0 {
			return "", fmt.Errorf("text: %d octets: %w", len(all), ErrOddUCS2)
		}
		return decodeUTF16(all), nil
	case asciiChar, latin1Char, octet:
	}
	return decodeLatin1(all), nil
}

// decodeHeader reads the header of a short message, and refuses languages that there is no table for.
func decodeHeader(shortMessage []byte) (Header, error) {
	udh, _, err := SplitHeader(shortMessage)
	if err != nil {
		return Header{}, fmt.Errorf("text: %w", err)
	}
	h, err := ParseHeader(udh)
	if err != nil {
		return Header{}, fmt.Errorf("text: %w", err)
	}
	if h.LockingShift != NoLanguage {
		return Header{}, fmt.Errorf("text: locking shift table %d: %w", h.LockingShift, ErrUnsupported)
	}
	if h.SingleShift > Portuguese {
		return Header{}, fmt.Errorf("text: single shift table %d: %w", h.SingleShift, ErrUnsupported)
	}
	return h, nil
}
