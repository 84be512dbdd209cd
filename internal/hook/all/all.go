// Package all has the handlers of all events, for the program that links what they need.
package all

import (
	"strings"

	"writ/internal/hook"
	"writ/internal/hook/aftertool"
	"writ/internal/hook/beforetool"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/lists"
	"writ/internal/hook/plainhttp"
	"writ/internal/hook/tlshttp"
	"writ/internal/hook/turns"
)

// Handlers are those of all events.
func Handlers() hook.Handlers {
	handlers := turns.Handlers()
	handlers[hook.BeforeTool] = beforetool.Handler{
		Caller: caller,
		Lists:  func(path string) (beforetool.Lists, error) { return lists.Read(path) },
	}
	handlers[hook.AfterTool] = aftertool.Handler{Caller: caller}
	return handlers
}

// caller calls the server of a guard file.
func caller(guard *guardfile.File) (hook.Caller, error) {
	if strings.HasPrefix(guard.Server, "http://") {
		return plainhttp.New(guard.Server, guard.Key)
	}
	return tlshttp.New(guard.Server, guard.Key), nil
}
