package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadCSV(t *testing.T) {
	iris := []string{"setosa", "versicolor"}
	tests := []struct {
		name string
		cfg  CSVConfig
		text string
	}{
		{"label first", CSVConfig{}, "0,1.5,-2\n1,3,4e1\n"},
		{"label last", CSVConfig{LabelIndex: -1}, "1.5,-2,0\n3,4e1,1"},
		{"label in the middle", CSVConfig{LabelIndex: 1}, "1.5,0,-2\n3,1,4e1\n"},
		{"header", CSVConfig{Header: true}, "y,a,b\n0,1.5,-2\n1,3,4e1\n"},
		{"by name", CSVConfig{Header: true, LabelName: "y"}, "a, y ,b\n1.5,0,-2\n3,1,4e1\n"},
		{"byte order mark", CSVConfig{Header: true, LabelName: "y"}, "\uFEFFy,a,b\n0,1.5,-2\n1,3,4e1\n"},
		{"class names", CSVConfig{ClassNames: iris}, "setosa,1.5,-2\nversicolor,3,4e1\n"},
		{"semicolons", CSVConfig{Comma: ';'}, "0;1.5;-2\n1;3;4e1\n"},
		{"quotes, blanks, CRLF, blank lines", CSVConfig{}, "\"0\", 1.5 ,-2\r\n\r\n1,3,\"4e1\"\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ReadCSV(strings.NewReader(tt.text), tt.cfg)
			require.NoError(t, err)
			assert.Equal(t, []float32{1.5, -2, 3, 40}, s.floats)
			assert.Equal(t, []int32{0, 1}, s.labels)
			assert.Equal(t, []int{2}, s.Shape())
			assert.Equal(t, 2, s.Classes())
		})
	}

	s, err := ReadCSV(strings.NewReader("0,1\n"), CSVConfig{Classes: 3})
	require.NoError(t, err)
	assert.Equal(t, 3, s.Classes())
}

func TestReadCSVRejects(t *testing.T) {
	header := CSVConfig{Header: true}
	tests := []struct {
		name string
		cfg  CSVConfig
		text string
		want string
	}{
		{"empty", CSVConfig{}, "", "no rows"},
		{"empty, header due", header, "", "want a header"},
		{"header only", header, "y,a\n", "no rows"},
		{"one column", CSVConfig{}, "1\n2\n", "1 column separated by ','"},
		{"short row", CSVConfig{}, "0,1,2\n1,2\n", "record on line 2: wrong number of fields"},
		{"row unlike the header", header, "y,a\n1,2,3\n", "record on line 2: wrong number of fields"},
		{"bare quote", CSVConfig{}, "0,1\n0,1\"2\n", "line 2, column"},
		{"word", CSVConfig{}, "0,1,2\n1,2,x\n", `line 2, column 3: "x" is not a number`},
		{"word under a header", header, "y,a\n0,1\n\n0,?\n", `line 4, column 2 (a): "?" is not a number`},
		{"missing value", CSVConfig{}, "0,,2\n", `line 1, column 2: "" is not a number`},
		{"NaN", CSVConfig{}, "0,NaN\n", "is not finite"},
		{"infinity", CSVConfig{}, "0,-inf\n", "is not finite"},
		{"over float32", CSVConfig{}, "0,1e39\n", "out of the range of float32"},
		{"fractional label", CSVConfig{}, "0.0,1\n", `line 1, column 1: label "0.0" is not a class number`},
		{"negative label", CSVConfig{}, "-1,1\n", "label -1 is outside"},
		{"huge label", CSVConfig{}, "2147483647,1\n", "outside"},
		{"label over classes", CSVConfig{Classes: 2}, "0,1\n2,1\n", "line 2, column 1: label 2 is outside [0, 2)"},
		{"unknown class", CSVConfig{ClassNames: []string{"cat"}}, "dog,1\n", `label "dog" is none of the class names ["cat"]`},
		{"class named twice", CSVConfig{ClassNames: []string{"a", "a"}}, "a,1\n", "classes 0 and 1"},
		{"names against classes", CSVConfig{ClassNames: []string{"a"}, Classes: 2}, "a,1\n", "there are 1 class names"},
		{"negative classes", CSVConfig{Classes: -1}, "0,1\n", "classes is -1"},
		{"column beyond", CSVConfig{LabelIndex: 2}, "0,1\n", "label column 2"},
		{"column before", CSVConfig{LabelIndex: -3}, "0,1\n", "label column -3"},
		{"name without header", CSVConfig{LabelName: "y"}, "0,1\n", "no header"},
		{"no such name", CSVConfig{Header: true, LabelName: "z"}, "y,a\n0,1\n", `no column is named "z"`},
		{"name twice", CSVConfig{Header: true, LabelName: "y"}, "y,y\n0,1\n", "several columns"},
		{"bad separator", CSVConfig{Comma: '"'}, "0,1\n", "invalid field or comment delimiter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Name = "table.csv"
			_, err := ReadCSV(strings.NewReader(tt.text), tt.cfg)
			require.ErrorContains(t, err, "table.csv")
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestOpenCSV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	_, err := OpenCSV(path, CSVConfig{})
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(path, []byte("0,1\n1,2\n"), 0o644))
	s, err := OpenCSV(path, CSVConfig{})
	require.NoError(t, err)
	assert.Equal(t, "t.csv", s.Name())
	assert.Equal(t, 2, s.Len())

	_, err = OpenCSV(path, CSVConfig{Header: true, LabelName: "y", Name: "mine"})
	require.ErrorContains(t, err, path, "errors name the file")
}

// FuzzReadCSV checks that no input panics, and that what is accepted is sound.
func FuzzReadCSV(f *testing.F) {
	f.Add("0,1.5,-2\n1,3,4e1\n", false, 0)
	f.Add("a,y\n\"1\n\",0\n", true, -1)
	f.Add("\uFEFFy;a\n0,1,\n", true, 1)
	f.Fuzz(func(t *testing.T, text string, header bool, label int) {
		s, err := ReadCSV(strings.NewReader(text), CSVConfig{Header: header, LabelIndex: label})
		if err != nil {
			return
		}
		require.Positive(t, s.Len())
		require.Len(t, s.floats, s.Len()*s.Features())
		for _, v := range s.floats {
			require.True(t, finite(v))
		}
		for _, l := range s.labels {
			require.True(t, l >= 0 && int(l) < s.Classes())
		}
	})
}
