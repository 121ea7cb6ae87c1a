package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on what is read at all. A configuration is 6 levels deep; the parser is recursive and has no bound of its own.
const (
	largestFile   = 1 << 20
	deepest       = 64
	mostLineParts = 1 << 14
)

// byteOrderMark is what some editors put in front of UTF-8.
const byteOrderMark = "\uFEFF"

// errTooLarge reports a file that cannot be what it is named as.
var errTooLarge = errors.New("is larger than 1MiB")

// errNotAFile reports a name that may keep a reader waiting for ever.
var errNotAFile = errors.New("is a pipe or a socket, not a file")

// readFile reads a small file. A device that never ends gives [errTooLarge], a pipe [errNotAFile]: whoever opens one waits
// for somebody who writes to it.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		return nil, &os.PathError{Op: "read", Path: path, Err: errNotAFile}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > largestFile {
		return nil, &os.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	return data, nil
}

// guarded reads, and takes a panic of the YAML library for what it is: a text that it cannot read. Its decoder panics on
// `a: !00 00`, for one.
func (d *decoder) guarded(read func()) {
	defer func() {
		if recover() != nil {
			d.unreadable(&Fault{Pos: d.origin.file, Problem: "is not YAML that can be read", Remedy: "check tags (!), anchors (&) and quotes"})
		}
	}()
	read()
}

// parse reads the syntax of the first document; nil when there is none. Every fault is noted.
func (d *decoder) parse(data []byte) (body ast.Node) {
	tokens := lexer.Tokenize(string(data))
	if f := tooDeep(tokens); f != nil {
		f.Pos = d.origin.format(f.at)
		d.unreadable(f)
		return nil
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.unreadable(d.syntax(err))
		return nil
	}
	docs := slices.DeleteFunc(tree.Docs, func(doc *ast.DocumentNode) bool { return doc.Body == nil })
	if len(docs) == 0 {
		return nil
	}
	if len(docs) > 1 {
		d.fault(docs[1].Body, "", "", "is a second YAML document", "keep one configuration in a file")
	}
	return docs[0].Body
}

// unreadable notes the one fault of a text that is not understood: whether it has accounts is not known.
func (d *decoder) unreadable(f *Fault) {
	d.faults = append(d.faults, f)
	d.origin.said["accounts"] = true
}

// syntax turns a parse error into a fault. It leaves out the excerpt of the
// source, which may hold a password.
func (d *decoder) syntax(err error) *Fault {
	f := &Fault{Pos: d.origin.file, Problem: "is not YAML", Remedy: "check indentation, colons and quotes"}
	if e, ok := errors.AsType[yaml.Error](err); ok {
		f.Problem = "is not YAML: " + e.GetMessage()
		if t := e.GetToken(); t != nil {
			f.at = position{t.Position.Line, t.Position.Column}
			f.Pos = d.origin.format(f.at)
		}
	}
	return f
}

// tooDeep is the fault of a text whose nesting may be deeper than [deepest], judged before it is parsed; nil without one.
func tooDeep(tokens token.Tokens) *Fault {
	var blocks []int // columns of the block sequences and mappings that are open
	flow, run, line, parts := 0, 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, parts = t.Position.Line, 0
		}
		column := t.Position.Column
		prefix := false
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType:
			blocks = opened(blocks, column, flow)
			if prefix = flow > 0; prefix {
				run++
			}
		case token.MappingValueType:
			if t.Prev != nil {
				column = t.Prev.Position.Column
			}
			blocks = opened(blocks, column, flow)
		case token.AnchorType, token.TagType:
			prefix = true
			run++
		default:
			prefix = t.Prev != nil && t.Prev.Type == token.AnchorType // its name
		}
		if !prefix {
			run = 0
		}
		at := position{line, t.Position.Column}
		if flow+len(blocks)+run > deepest {
			return &Fault{at: at, Problem: fmt.Sprintf("is nested more than %d levels deep", deepest), Remedy: "a configuration needs 6"}
		}
		if parts++; parts > mostLineParts {
			return &Fault{at: at, Problem: "has too many values on one line", Remedy: "write one key a line"}
		}
	}
	return nil
}

// opened closes the blocks that end where one begins at column, and opens that. Inside brackets there are no blocks.
func opened(blocks []int, column, flow int) []int {
	if flow > 0 {
		return blocks
	}
	for len(blocks) > 0 && blocks[len(blocks)-1] >= column {
		blocks = blocks[:len(blocks)-1]
	}
	return append(blocks, column)
}
