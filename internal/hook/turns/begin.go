package turns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"writ/client"
	"writ/internal/hook"
	"writ/internal/hook/bounded"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/state"
	"writ/internal/hook/transcript"
	"writ/internal/redaction"
)

// directive is what the model is told at the beginning of each turn.
const directive = "Before any other tool, call register_intent_plan of Writ with the goal and the steps of this turn: " +
	"for each step the tool that you will call, and the arguments that you know. A call that the plan does not name is " +
	"denied. If you learn that you need more, register the plan again with what it amends and why."

// carried is what it is told where the plan of the turn before still counts.
const carried = "The plan of the last turn still counts. A call that it does not name is denied: then call " +
	"register_intent_plan of Writ with what you need more, and why."

// begin opens a turn. What it cannot do denies: until the server has opened the turn, no tool runs, unless calls are
// only monitored.
func begin(ctx context.Context, in *hook.Input) gemini.Answer {
	s, err := open(in)
	if err != nil {
		return block(err.Error())
	}
	s.finish(time.Time{})
	said := splitPrompt(in.Prompt)
	turn := state.Turn{
		TraceID:    newID(),
		StartedAt:  in.Now.UTC(),
		Input:      bounded.Cut(redaction.Text(bounded.Head(said.typed, 2*bounded.Shown)), bounded.Shown),
		Transcript: in.TranscriptPath,
		Offset:     transcript.Size(in.TranscriptPath),
	}
	if err := s.state.Begin(turn); err != nil {
		return block(err.Error())
	}
	now, err := s.openTurn(ctx, said)
	if err != nil {
		turn.Problem = unreachable(err)
		if err := s.state.Confirm(turn); err != nil {
			return block(err.Error())
		}
		return unopened(in.Guard, turn.Problem)
	}
	turn.Number = now.Turn
	if err := s.state.Confirm(turn); err != nil {
		return block(err.Error())
	}
	s.flush(ctx, spoolParts)
	text := directive
	if now.PlanID != "" {
		text = carried
	}
	return gemini.Answer{Specific: &gemini.Specific{Event: gemini.BeforeAgent, Context: text}}
}

// openTurn tells the server what the person said. What the person typed and what came along are different
// things: values of the one are the person's, values of the other are a text's.
func (s *session) openTurn(ctx context.Context, said prompt) (client.SessionState, error) {
	limited, cancel := context.WithTimeout(ctx, s.Guard.AnswerLimit())
	defer cancel()
	texts := said.texts()
	request := client.TurnRequest{
		SessionID: s.SessionID,
		AgentID:   s.Guard.Agent,
		Prompt:    said.typed,
		CarryPlan: s.Guard.CarryPlan,
	}
	if len(texts) > 0 {
		request.Text, texts = texts[0], texts[1:]
	}
	now, err := s.remote.OpenTurn(limited, request)
	if err != nil {
		return now, err
	}
	if now.Turn <= 0 {
		return now, errors.New("the server opened no turn")
	}
	for _, text := range texts {
		more, cancel := context.WithTimeout(ctx, s.Guard.AnswerLimit())
		err := s.remote.Call(more, http.MethodPost, "/iap/sdk/prompt", nil, map[string]string{
			"session_id": s.SessionID,
			"agent_id":   s.Guard.Agent,
			"text":       text,
		}, nil)
		cancel()
		if err != nil {
			return now, fmt.Errorf("state the text of files: %w", err)
		}
	}
	return now, nil
}

// unopened says that no tool will run. The model may still answer.
func unopened(guard *guardfile.File, problem string) gemini.Answer {
	said := "Writ: " + problem + ". " +
		follows(guard, "No tool will run in this turn; say it again once the server answers.")
	if guard.Mode == guardfile.Monitor {
		return gemini.Answer{SystemMessage: said} // the model works as without us
	}
	return gemini.Answer{
		SystemMessage: said,
		Specific: &gemini.Specific{
			Event: gemini.BeforeAgent,
			Context: "No tool will run in this turn, because " + problem +
				". Do not call tools; answer without them, or tell the person to try again later.",
		},
	}
}
