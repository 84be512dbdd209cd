package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"time"
)

// SetPatience sets how long a reader of a stream that is opened then may take for a
// part.
func (a *API) SetPatience(d time.Duration) { a.router.SetStreamPatience(d) }

// ExampleRequest is an example of the document.
type ExampleRequest = exampleRequest

// ReadExamples are the examples of the document, in the order in which they work.
func ReadExamples() (exampleRequests, error) {
	text, err := os.ReadFile("examples.json")
	if err == nil && !bytes.Equal(text, examplesText) {
		err = errors.New("the document has other examples than the file")
	}
	var read exampleRequests
	return read, errors.Join(err, json.Unmarshal(text, &read))
}

// ExampleAnswer is an answer to one.
type ExampleAnswer = exampleAnswer

// AnswersFile has the answers that the document shows.
const AnswersFile = "answers.json"

// ReadAnswers are the answers that the document shows, by their requests.
func ReadAnswers() (read map[string]ExampleAnswer, err error) {
	text, err := os.ReadFile(AnswersFile)
	if err == nil && !bytes.Equal(text, answersText) {
		err = errors.New("the document has other answers than the file")
	}
	return read, errors.Join(err, json.Unmarshal(text, &read))
}

// HasExample reports whether routes of a path have examples.
func HasExample(path string) bool { return exampled(path) }

// Sent are the body and target of an example with these values.
func (e exampleRequest) Sent(values map[string]string) (body, target string) {
	e = e.with(values)
	return string(e.Body), e.target()
}

// OpenTails is how many live tails are open.
func (a *API) OpenTails() int { return a.traces.OpenTails() }
