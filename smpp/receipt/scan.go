package receipt

import (
	"bytes"
	"strings"
)

// key is one of the words of a receipt's text.
type key uint8

const (
	keyID key = iota
	keySub
	keyDlvrd
	keySubmitDate
	keyDoneDate
	keyStat
	keyErr
	keyText
	keys // how many there are
)

// fields are the values found in a text.
type fields struct {
	value [keys]string
	found [keys]bool
	bare  string // a state that stands alone, with no "stat:" before it
	quote int    // where the value of "text:" begins, 0 without one
}

// scan reads the text of a receipt: keys in any order and case, each value up to the next key or blank. Of a key that
// comes twice the first counts, so that a quoted message cannot overrule the SMSC.
func scan(b []byte, own map[string]State) fields {
	var f fields
	s := string(bytes.TrimRight(b, "\x00"))
	for i := 0; i < len(s); {
		k, n := keyAt(s, i)
		if n == 0 {
			end := wordEnd(s, i)
			if word := bareWord(keyStat, s[i:end]); f.bare == "" && word != "" {
				if _, known := stateOf(word, own); known {
					f.bare = word
				}
			}
			i = max(end, i+1)
			continue
		}
		start := skipBlanks(s, i+n)
		if k == keyText && !f.found[k] && !f.continuesAt(s, start) {
			f.value[k], f.found[k], f.quote = s[start:], true, start
			break
		}
		end := wordEnd(s, start)
		if !f.found[k] {
			f.value[k], f.found[k] = bareWord(k, s[start:end]), true
		}
		i = end
	}
	return f
}

// bareWord returns a value without the marks that set it apart from the next one. An id keeps what may be part of it.
func bareWord(k key, word string) string {
	word = strings.TrimRight(word, ",;")
	if k == keyStat {
		word = strings.TrimLeft(strings.TrimRight(word, ",;.:!|/\"')>]}"), "\"'(<[{")
	}
	return word
}

// continuesAt reports whether a key that has not been seen yet stands where the value of "text:" would begin.
func (f *fields) continuesAt(s string, i int) bool {
	k, n := keyAt(s, i)
	return n > 0 && !f.found[k]
}

// wordEnd returns where the word that begins at i ends: at a blank, at a key, or with the text. A key at i itself
// leaves the word empty.
func wordEnd(s string, i int) int {
	for ; i < len(s) && !isBlank(s[i]); i++ {
		if _, n := keyAt(s, i); n > 0 {
			break
		}
	}
	return i
}

// keyAt returns the key at index i with the length of how it is written, colon included, or a length of 0. The short
// keys count only where no letter precedes them: "uuid:" is no id, and "context:" no text.
func keyAt(s string, i int) (key, int) {
	afterLetter := i > 0 && isLetter(s[i-1])
	rest := s[i:]
	if len(rest) < len("id:") {
		return 0, 0
	}
	switch rest[0] | 0x20 {
	case 'i':
		if !afterLetter {
			return match(rest, keyID, "id:")
		}
	case 's':
		if k, n := match(rest, keyStat, "stat:"); n > 0 {
			return k, n
		}
		if k, n := match(rest, keySub, "sub:"); n > 0 {
			return k, n
		}
		return match(rest, keySubmitDate, "submit date:", "submitdate:", "submit_date:")
	case 'd':
		if k, n := match(rest, keyDlvrd, "dlvrd:"); n > 0 {
			return k, n
		}
		return match(rest, keyDoneDate, "done date:", "donedate:", "done_date:")
	case 'e':
		return match(rest, keyErr, "err:")
	case 't':
		if !afterLetter {
			return match(rest, keyText, "text:")
		}
	}
	return 0, 0
}

// match returns k and the length of the first spelling that s begins with in any case, or a length of 0.
func match(s string, k key, spellings ...string) (key, int) {
	for _, w := range spellings {
		if len(s) >= len(w) && strings.EqualFold(s[:len(w)], w) {
			return k, len(w)
		}
	}
	return 0, 0
}

// skipBlanks returns the index of the first octet from i on that is no blank.
func skipBlanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
