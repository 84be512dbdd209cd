package expression

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

const maxShown = 200

// shortJSON writes a value as JSON, up to maxShown characters.
func shortJSON(value any) string {
	w := &shortWriter{}
	w.value(value)
	if text := []rune(w.text.String()); len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return w.text.String()
}

// shortWriter stops when it has enough. It may exceed that by one piece.
type shortWriter struct{ text strings.Builder }

func (w *shortWriter) full() bool { return w.text.Len() > maxShown*utf8.UTFMax }

func (w *shortWriter) value(value any) {
	switch v := value.(type) {
	case nil, types.Null:
		w.text.WriteString("null")
	case string:
		w.quoted(v)
	case types.String:
		w.quoted(string(v))
	case bool, int64, float64, types.Bool, types.Int, types.Uint, types.Double:
		w.scalar(v)
	case types.Timestamp:
		w.quoted(v.Time.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
	case types.Duration:
		w.quoted(v.Duration.String())
	case []any:
		w.list(len(v), func(i int) any { return v[i] })
	case map[string]any:
		w.members(slices.Sorted(maps.Keys(v)), func(key string) any { return v[key] })
	case *types.Optional:
		w.optional(v)
	case object:
		w.object(v)
	case traits.Lister:
		size, _ := v.Size().(types.Int)
		w.list(int(size), func(i int) any { return v.Get(types.Int(i)) })
	case traits.Mapper:
		w.value(v.Value())
	case ref.Val:
		w.quoted(v.Type().TypeName())
	default:
		w.quoted(fmt.Sprintf("%T", v))
	}
}

func (w *shortWriter) scalar(value any) {
	if v, ok := value.(ref.Val); ok {
		value = v.Value()
	}
	text, err := json.Marshal(value)
	if err != nil { // infinity
		text = []byte(strconv.Quote(fmt.Sprint(value)))
	}
	w.text.Write(text)
}

func (w *shortWriter) quoted(text string) {
	if len(text) > maxShown*utf8.UTFMax {
		text = text[:maxShown*utf8.UTFMax] // shortJSON cuts well before a broken last character
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		quoted = []byte(`""`)
	}
	w.text.Write(quoted)
}

func (w *shortWriter) list(size int, at func(int) any) {
	w.text.WriteByte('[')
	for i := 0; i < size && !w.full(); i++ {
		if i > 0 {
			w.text.WriteByte(',')
		}
		w.value(at(i))
	}
	w.text.WriteByte(']')
}

func (w *shortWriter) members(names []string, get func(string) any) {
	w.text.WriteByte('{')
	for i, name := range names {
		if w.full() {
			break
		}
		if i > 0 {
			w.text.WriteByte(',')
		}
		w.quoted(name)
		w.text.WriteByte(':')
		w.value(get(name))
	}
	w.text.WriteByte('}')
}

func (w *shortWriter) optional(v *types.Optional) {
	if !v.HasValue() {
		w.text.WriteString("null")
		return
	}
	w.value(v.GetValue())
}

func (w *shortWriter) object(v object) {
	w.members(slices.Sorted(maps.Keys(v.kind.fields)), func(name string) any {
		value, err := v.kind.fields[name].GetFrom(v.value)
		if err != nil {
			return nil
		}
		return value
	})
}
