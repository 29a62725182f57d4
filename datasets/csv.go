package datasets

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CSVConfig says how to read a table. The zero value is for a file without a
// header, separated by commas, with integer labels in its first column.
type CSVConfig struct {
	// Name of the set. Empty means the name of the file, or "csv" without one.
	Name string
	// Comma separates the fields; zero means ','.
	Comma rune
	// Header says that the first line names the columns.
	Header bool

	// LabelName picks the label column by its name, which takes a Header.
	LabelName string
	// LabelIndex picks it by position when LabelName is empty: 0 is the first
	// column; a negative index counts from the end, -1 is the last.
	LabelIndex int

	// ClassNames are the texts of the labels; the first is class 0. Empty means
	// that labels are the class numbers themselves, integers from 0.
	ClassNames []string
	// Classes is the number of classes. Zero means as many as ClassNames has, or
	// else the largest label plus one. Set it when a part of the data is read
	// that may lack the last class.
	Classes int
}

// OpenCSV is [ReadCSV] for a file.
func OpenCSV(path string, cfg CSVConfig) (set *Set, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("datasets: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if cfg.Name == "" {
		cfg.Name = filepath.Base(path)
	}
	set, err = readCSV(f, cfg)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", path, err)
	}
	return set, nil
}

// ReadCSV reads a table of float32 features and one label a row, as RFC 4180
// has it: quotes, and line breaks inside quotes, are understood, blank lines are
// skipped. All columns but that of the label are features, in file order; blanks
// around a value are ignored.
//
// It is strict: every row has the same number of fields, every feature is a
// finite number in the range of float32, every label is a known class. The
// error names the line and the column, both counted from 1.
func ReadCSV(r io.Reader, cfg CSVConfig) (*Set, error) {
	if cfg.Name == "" {
		cfg.Name = "csv"
	}
	set, err := readCSV(r, cfg)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", cfg.Name, err)
	}
	return set, nil
}

func readCSV(r io.Reader, cfg CSVConfig) (*Set, error) {
	t, err := newTable(r, cfg)
	if err != nil {
		return nil, err
	}
	var x []float32
	var labels []int32
	for {
		record, err := t.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(labels) == 0 {
			if err := t.findLabel(record); err != nil {
				return nil, err
			}
		}
		x, labels, err = t.appendRow(x, labels, record)
		if err != nil {
			return nil, err
		}
	}
	if len(labels) == 0 {
		return nil, errors.New("the table has no rows")
	}
	return FromFloats(SetConfig{Name: cfg.Name, Classes: t.classes}, x, labels)
}

// table is a CSV reader that knows its columns and classes.
type table struct {
	*csv.Reader
	header  []string         // nil without one
	label   int              // column of the label
	cfg     CSVConfig        // as given
	named   map[string]int32 // class numbers of cfg.ClassNames
	classes int              // 0: not known beforehand
}

func newTable(r io.Reader, cfg CSVConfig) (*table, error) {
	buffered := bufio.NewReader(r)
	// Spreadsheets put a byte order mark first; it would be part of a name.
	if bom, err := buffered.Peek(3); err == nil && string(bom) == "\uFEFF" {
		if _, err := buffered.Discard(3); err != nil {
			return nil, err
		}
	}
	t := &table{Reader: csv.NewReader(buffered), cfg: cfg}
	t.ReuseRecord = true
	if cfg.Comma != 0 {
		t.Comma = cfg.Comma
	}
	if err := t.setClasses(); err != nil {
		return nil, err
	}
	if !cfg.Header {
		if cfg.LabelName != "" {
			return nil, fmt.Errorf("label column %q is given by name, but the table is said to have no header", cfg.LabelName)
		}
		return t, nil
	}
	header, err := t.Read()
	if err == io.EOF {
		return nil, errors.New("the table is empty; want a header")
	}
	if err != nil {
		return nil, err
	}
	for _, name := range header {
		t.header = append(t.header, strings.TrimSpace(name))
	}
	return t, nil
}

func (t *table) setClasses() error {
	names := t.cfg.ClassNames
	t.classes = t.cfg.Classes
	if t.classes < 0 || t.classes > math.MaxInt32 {
		return fmt.Errorf("classes is %d; want between 0 and %d", t.classes, math.MaxInt32)
	}
	if len(names) == 0 {
		return nil
	}
	if t.classes != 0 && t.classes != len(names) {
		return fmt.Errorf("classes is %d, but there are %d class names", t.classes, len(names))
	}
	t.classes = len(names)
	t.named = make(map[string]int32, len(names))
	for i, name := range names {
		if first, ok := t.named[name]; ok {
			return fmt.Errorf("class name %q is given to classes %d and %d", name, first, i)
		}
		t.named[name] = int32(i)
	}
	return nil
}

// findLabel sets t.label, once the first row has shown how many columns there
// are.
func (t *table) findLabel(row []string) error {
	columns := len(row)
	if columns < 2 {
		return fmt.Errorf("%d column separated by %q; want a label and at least one feature", columns, t.Comma)
	}
	if name := t.cfg.LabelName; name != "" {
		t.label = slices.Index(t.header, name)
		if t.label < 0 {
			return fmt.Errorf("header: no column is named %q; there are %q", name, t.header)
		}
		if slices.Contains(t.header[t.label+1:], name) {
			return fmt.Errorf("header: several columns are named %q; pick one by its index", name)
		}
		return nil
	}
	t.label = t.cfg.LabelIndex
	if t.label < 0 {
		t.label += columns
	}
	if t.label < 0 || t.label >= columns {
		return fmt.Errorf("label column %d is outside the %d columns of the table", t.cfg.LabelIndex, columns)
	}
	return nil
}

// appendRow appends the features of a record to x and its label to labels.
func (t *table) appendRow(x []float32, labels []int32, record []string) ([]float32, []int32, error) {
	for c, field := range record {
		field = strings.TrimSpace(field)
		if c == t.label {
			class, err := t.class(field)
			if err != nil {
				return nil, nil, t.at(c, err)
			}
			labels = append(labels, class)
			continue
		}
		v, err := parseFeature(field)
		if err != nil {
			return nil, nil, t.at(c, err)
		}
		x = append(x, v)
	}
	return x, labels, nil
}

// class returns the class that a label stands for.
func (t *table) class(label string) (int32, error) {
	if t.named != nil {
		class, ok := t.named[label]
		if !ok {
			return 0, fmt.Errorf("label %q is none of the class names %q", label, t.cfg.ClassNames)
		}
		return class, nil
	}
	class, err := strconv.ParseInt(label, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("label %q is not a class number; name the classes in ClassNames when labels are words", label)
	}
	limit := t.classes
	if limit == 0 {
		limit = math.MaxInt32
	}
	if class < 0 || class >= int64(limit) {
		return 0, fmt.Errorf("label %d is outside [0, %d)", class, limit)
	}
	return int32(class), nil
}

func parseFeature(field string) (float32, error) {
	v, err := strconv.ParseFloat(field, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is out of the range of float32", field)
	case err != nil:
		return 0, fmt.Errorf("%q is not a number", field)
	case !finite(float32(v)):
		return 0, fmt.Errorf("%q is not finite", field)
	}
	return float32(v), nil
}

// at adds to err where the current record has column c.
func (t *table) at(c int, err error) error {
	line, _ := t.FieldPos(c)
	if t.header == nil {
		return fmt.Errorf("line %d, column %d: %w", line, c+1, err)
	}
	return fmt.Errorf("line %d, column %d (%s): %w", line, c+1, t.header[c], err)
}
