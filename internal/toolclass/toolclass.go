// Package toolclass says what a tool does, judging by its name. Approval requests, the registry of MCP servers and the
// scanner of their definitions ask it. What an operator states of a tool counts before its name. The package is pure.
package toolclass

import (
	"slices"
	"strings"

	"writ/internal/intent/grounding"
)

// Class is what a tool does, judging by its name.
type Class string

// The classes, the worst first. The first one that matches a name counts.
const (
	Shell   Class = "shell"
	Secrets Class = "secrets"
	Money   Class = "money"
	Delete  Class = "delete"
	Send    Class = "send"
	Write   Class = "write"
	Unknown Class = "unknown"
	Read    Class = "read"
)

// Verb continues "the tool"; empty for a tool that reads.
func (c Class) Verb() string {
	switch c {
	case Shell:
		return "runs commands"
	case Secrets:
		return "handles passwords, keys or other secrets"
	case Money:
		return "moves money"
	case Delete:
		return "deletes or ends something"
	case Send:
		return "sends something to others"
	case Write:
		return "changes something"
	case Unknown:
		return "has a name that does not say what it does"
	}
	return ""
}

// Leaves reports whether the tool can send data out of the organization.
func (c Class) Leaves() bool { return c == Send || c == Shell || c == Money || c == Unknown }

// Words of tools' and servers' names. A noun says what a tool is about, whatever
// it does with it; a verb says what it does.
var (
	shellNouns = NewSet("bash shell sh zsh powershell pwsh terminal exec execute subprocess ssh sudo cmd command commands eval console repl interpreter code python javascript script sql")
	// These mean a shell only as the whole name, or after a word such as run.
	shellOnly   = NewSet("command commands code console cmd execute sh eval python javascript script sql")
	secretNouns = NewSet("secret secrets password passwords passwd credential credentials creds token vault keychain otp mfa 2fa passphrase apikey kms")
	moneyNouns  = NewSet("money payment payments pay payout payouts transfer wire refund refunds charge charges withdraw withdrawal deposit purchase buy checkout invoice transaction transactions subscription billing")
	moneyPlaces = NewSet("bank banking stripe paypal wise adyen braintree coinbase treasury payments wallet ledger")

	readVerbs   = NewSet("get list read search find fetch show view describe check count lookup query browse inspect status stat ls cat grep glob head tail preview download summarize compare validate verify whoami ping help is has")
	deleteVerbs = NewSet("delete remove drop destroy purge truncate wipe erase clear revoke cancel terminate kill stop disable rm rmdir unlink uninstall ban kick archive reset rollback")
	sendVerbs   = NewSet("send post publish share mail email message invite upload tweet notify reply forward comment submit broadcast call dm announce push export")
	writeVerbs  = NewSet("write create update set add put edit insert append modify patch move rename copy schedule reschedule reserve book deploy merge commit install save change make replace enable start assign approve accept register import apply configure upsert sync close open mark rotate grant multiedit notebookedit mkdir touch chmod chown")
)

// Refined is the class of a tool. What is stated about it counts before its name, which then only says more precisely
// what the tool does.
func Refined(stated grounding.Class, server, tool string) Class {
	named := Of(server, tool)
	switch stated {
	case grounding.Execute:
		return Shell
	case grounding.Egress:
		return named.among(Send, Secrets, Money)
	case grounding.Write:
		return named.among(Write, Secrets, Money, Delete, Send)
	case grounding.Read:
		return named.among(Read, Secrets)
	}
	return named
}

// among is the class if it is one of some, else another.
func (c Class) among(otherwise Class, some ...Class) Class {
	if slices.Contains(some, c) {
		return c
	}
	return otherwise
}

// Of finds the class by the words of a tool's name, else by those of its server.
func Of(server, tool string) Class {
	names, place := Words(tool), Words(server)
	reads := reads(names)
	switch {
	case isShell(names) || isShell(place) && !reads:
		return Shell
	case secretNouns.HasAny(names) || secretNouns.HasAny(place):
		return Secrets
	case reads:
		return Read
	case moneyNouns.HasAny(names):
		return Money
	}
	class := verbOf(names)
	// A bank's tool that changes something probably moves money.
	if class != Delete && moneyPlaces.HasAny(place) {
		return Money
	}
	return class
}

func verbOf(names []string) Class {
	switch {
	case deleteVerbs.HasAny(names):
		return Delete
	case sendVerbs.HasAny(names):
		return Send
	case writeVerbs.HasAny(names):
		return Write
	}
	return Unknown
}

// reads reports whether a name says what it reads: by its first verb, because
// get_sent_messages reads and send_status does not.
func reads(names []string) bool {
	for _, word := range names {
		switch {
		case readVerbs[word]:
			return true
		case deleteVerbs[word] || sendVerbs[word] || writeVerbs[word] || moneyNouns[word]:
			return false
		}
	}
	return false
}

// isShell reports whether a name means a tool that runs commands or code.
func isShell(names []string) bool {
	for i, word := range names {
		if !shellNouns[word] {
			continue
		}
		if !shellOnly[word] || len(names) == 1 {
			return true
		}
		if i > 0 && (names[i-1] == "run" || names[i-1] == "execute" || names[i-1] == "exec" || names[i-1] == "invoke") {
			return true
		}
	}
	return false
}

// Set is a set of words.
type Set map[string]bool

// NewSet is the set of the words of a text.
func NewSet(text string) Set {
	set := Set{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// HasAny reports whether one of the words is in the set.
func (s Set) HasAny(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return s[word] })
}

// maxName is how much of a name is read.
const maxName = 200

// Words cuts a name into its words, in lower case: send_money, sendMoney,
// send-money and SendMoney are the same two. Letters of other scripts separate words
// as punctuation does, so that a look-alike letter does not hide a word.
func Words(name string) (list []string) {
	if len(name) > maxName {
		name = name[:maxName]
	}
	start := -1
	for i := 0; i <= len(name); i++ {
		ends := i == len(name) || !isWordByte(name[i])
		if start >= 0 && (ends || isUpper(name[i]) && (!isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1]))) {
			list = append(list, strings.ToLower(name[start:i]))
			start = -1
		}
		if !ends && start < 0 {
			start = i
		}
	}
	return list
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isWordByte(c byte) bool {
	return isUpper(c) || isLower(c) || c >= '0' && c <= '9'
}

// Effect is what a tool does to the world: the class of a known harness's tool, else what its name says. Empty: neither
// says anything.
func Effect(server, tool string) grounding.Class {
	if known := grounding.BuiltinClass(server, tool); known != "" {
		return known
	}
	switch Of(server, tool) {
	case Shell:
		return grounding.Execute
	case Send, Money:
		return grounding.Egress
	case Delete, Write:
		return grounding.Write
	case Read:
		return grounding.Read
	case Secrets:
		if reads(Words(tool)) {
			return grounding.Read
		}
		return grounding.Write
	}
	return ""
}
