package queue

import "strings"

// Type of number and numbering plan values (SMPP 3.4 sections 5.2.5 and 5.2.6).
const (
	tonUnknown         = 0
	tonInternational   = 1
	tonNetworkSpecific = 3
	tonAlphanumeric    = 5

	npiUnknown = 0
	npiISDN    = 1
)

// maxShortCode is the longest all-digit address that is taken for a short code.
const maxShortCode = 8

// InferAddress derives the type of number and the numbering plan of an address
// as users write it: "+" and digits is international ISDN (1/1), up to 8 digits
// a short code (3/0), more digits a number of unknown type in the ISDN plan
// (0/1), and anything else a name (5/0). An empty address is unknown (0/0).
func InferAddress(s string) (ton, npi uint8) {
	digits, plus := strings.CutPrefix(s, "+")
	switch {
	case s == "":
		return tonUnknown, npiUnknown
	case !allDigits(digits):
		return tonAlphanumeric, npiUnknown
	case plus:
		return tonInternational, npiISDN
	case len(digits) <= maxShortCode:
		return tonNetworkSpecific, npiUnknown
	default:
		return tonUnknown, npiISDN
	}
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// Address is an address as it goes on the wire.
type Address struct {
	// Digits is the address without the "+" of an international number.
	Digits   string
	TON, NPI uint8
}

func wireAddress(s string, ton, npi *uint8) Address {
	a := Address{Digits: s}
	a.TON, a.NPI = InferAddress(s)
	if a.TON == tonInternational {
		a.Digits = s[1:]
	}
	if ton != nil {
		a.TON = *ton
	}
	if npi != nil {
		a.NPI = *npi
	}
	return a
}
