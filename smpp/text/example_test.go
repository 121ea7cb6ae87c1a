package text_test

import (
	"fmt"
	"strings"

	"sluice/smpp/text"
)

// Auto takes the smallest alphabet that has all letters, and splits what is too long for one short message.
func ExampleEncode() {
	for _, words := range []string{"hello", "Привет", strings.Repeat("x", 161)} {
		e, err := text.Encode(words, text.Options{MaxParts: 4, Reference: 7})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("data_coding %d, short messages: %d, %d octets of header\n", e.DataCoding, e.Parts, len(e.Segments[0].UDH))
	}
	_, err := text.Encode("snowman ☃", text.Options{Encoding: text.GSM7, MaxParts: 1})
	fmt.Println(err)
	// Output:
	// data_coding 0, short messages: 1, 0 octets of header
	// data_coding 8, short messages: 1, 0 octets of header
	// data_coding 0, short messages: 2, 6 octets of header
	// text: character 9 (a symbol) is not in the GSM 7-bit alphabet: use encoding auto or ucs2, or allow transliteration
}
