// Command go is an agent whose tool is behind Writ, with the Go client alone.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"writ/client"
)

type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount"`
}

func sendMoney(p payment) string { return fmt.Sprintf("sent %d to %s", p.Amount, p.To) }

func main() {
	agent := &client.Client{BaseURL: os.Getenv("WRIT_URL"), APIKey: os.Getenv("WRIT_API_KEY")}
	ctx := context.Background()
	plan, err := agent.DeclarePlan(ctx, client.PlanRequest{
		AgentID: "billing",
		Plan: json.RawMessage(`{"goal": "pay the rent", "steps": [
			{"mcp": "bank", "action": "send_money", "params": {"to": "landlord"}}]}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range []payment{{"landlord", 900}, {"mallory", 900}} {
		if err := pay(ctx, agent, plan, p); err != nil {
			fmt.Println("not done:", err)
		}
	}
}

// pay runs the tool only after an allow: an error, a deny and a hold are all no allow.
func pay(ctx context.Context, agent *client.Client, plan client.PlanToken, p payment) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	arguments, err := json.Marshal(p)
	if err != nil {
		return err
	}
	decision, err := agent.Enforce(ctx, client.PlannedCall{
		MCP: "bank", Tool: "send_money", Arguments: arguments, IntentToken: plan,
	})
	if err != nil {
		return fmt.Errorf("the call was not decided: %w", err)
	}
	if !decision.Allowed {
		return errors.New(decision.Reason)
	}
	fmt.Println(sendMoney(p))
	if _, err := agent.ReportExecution(ctx, map[string]any{
		"token": plan.JWT, "tool": "send_money", "mcp": "bank", "input": p,
		"status": "success", "executed_at": time.Now(),
	}); err != nil {
		fmt.Println("it was done, and could not be reported:", err) // whoever tries again pays twice
	}
	return nil
}
