package writd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"writ/internal/app"
	"writ/internal/cli"
	"writ/internal/config"
	"writ/internal/telemetry"
)

// prices holds the commands about the prices of models. They need no data.
func (c *command) prices() *cobra.Command {
	prices := &cobra.Command{
		Use: "prices", Short: "See and check what the tokens of models cost",
		Long: `See and check what the tokens of models cost, by the file that WRIT_PRICES_FILE names or by the built-in prices. They
apply to telemetry that comes from now on; what is stored keeps its cost.`,
	}
	prices.AddCommand(c.pricesList(), c.pricesCheck(), c.pricesCost())
	return prices
}

// setPrices reads the prices that the server would use.
func (c *command) setPrices() (*telemetry.Prices, error) {
	settings, err := config.Load(c.environ, os.ReadFile)
	if err != nil {
		return nil, err
	}
	prices, err := app.Prices(settings.PricesFile)
	if err != nil {
		return nil, fmt.Errorf("WRIT_PRICES_FILE: %w", err)
	}
	return prices, nil
}

func (c *command) pricesList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the prices in US dollars per million tokens", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			prices, err := c.setPrices()
			if err != nil {
				return err
			}
			if asJSON {
				return c.print(map[string]any{"date": prices.Date, "models": prices.Models()})
			}
			fmt.Fprintf(c.streams.Err, "writd: prices of %s\n", cmp.Or(prices.Date, "an unknown date"))
			return c.printPrices(prices)
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

func (c *command) printPrices(prices *telemetry.Prices) error {
	table := tabwriter.NewWriter(c.streams.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(vendor, model string, above any, dollars ...float64) {
		fmt.Fprintf(table, "%s\t%s\t%v\t", cli.Line(vendor), cli.Line(model), above)
		for _, d := range dollars {
			fmt.Fprint(table, strconv.FormatFloat(d, 'f', -1, 64), "\t")
		}
		fmt.Fprintln(table)
	}
	fmt.Fprintln(table, "VENDOR\tMODEL\tABOVE\tINPUT\tOUTPUT\tCACHE READ\tCACHE WRITE\t")
	for _, m := range prices.Models() {
		row(m.Vendor, m.Prefix, "-", m.Input, m.Output, m.CacheRead, m.CacheWrite)
		if a := m.Above; a != nil {
			row(m.Vendor, m.Prefix, a.Tokens, a.Input, a.Output, a.CacheRead, a.CacheWrite)
		}
	}
	return table.Flush()
}

func (c *command) pricesCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Check a price file before the server reads it", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			prices, err := app.Prices(args[0])
			if err != nil {
				return err
			}
			if prices.Date == "" {
				return errors.New("price file: date is missing: nobody could say how old the prices are")
			}
			_, err = fmt.Fprintf(c.streams.Out, "%s: %d models, prices of %s\n", cli.Line(args[0]),
				len(prices.Models()), prices.Date)
			return err
		},
	}
}

// charged is the cost of a request, and why.
type charged struct {
	Model              string  `json:"model"`
	PricedAs           string  `json:"pricedAs"` // the prefix that was found
	Vendor             string  `json:"vendor"`
	Date               string  `json:"date"`
	InputIncludesCache bool    `json:"inputIncludesCache"`
	LongPrompt         bool    `json:"longPrompt"`
	InputTokens        int64   `json:"inputTokens"` // that cost as input
	CostUSD            float64 `json:"costUsd"`
}

func (c *command) pricesCost() *cobra.Command {
	var used telemetry.Usage
	cmd := &cobra.Command{
		Use: "cost MODEL", Short: "Print what one request to a model costs, and why", Args: cobra.ExactArgs(1),
		Long: "Print what one request to a model costs, and why. Give the tokens as the model's vendor counts them.",
		RunE: func(_ *cobra.Command, args []string) error {
			prices, err := c.setPrices()
			if err != nil {
				return err
			}
			charge := prices.Charge(args[0], used)
			if charge.Price.Prefix == "" {
				return fmt.Errorf("no price is known for %s: it costs nothing, until a price file names it", args[0])
			}
			used.CostNanos = charge.Nanos
			return c.print(charged{
				Model: args[0], PricedAs: charge.Price.Prefix, Vendor: charge.Price.Vendor, Date: prices.Date,
				InputIncludesCache: prices.InputIncludesCache(charge.Price.Vendor),
				LongPrompt:         charge.Rates != charge.Price.Rates,
				InputTokens:        charge.Input, CostUSD: used.Dollars(),
			})
		},
	}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if min(used.Input, used.Output, used.CacheRead, used.CacheWrite) < 0 {
			return errors.New("tokens must not be negative")
		}
		return nil
	}
	f := cmd.Flags()
	f.Int64Var(&used.Input, "input", 0, "input tokens")
	f.Int64Var(&used.Output, "output", 0, "output tokens")
	f.Int64Var(&used.CacheRead, "cache-read", 0, "tokens read from a cache")
	f.Int64Var(&used.CacheWrite, "cache-write", 0, "tokens written to a cache")
	return cmd
}
