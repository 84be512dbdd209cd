import { useQuery } from "@tanstack/react-query";
import type { Body } from "../../api/client";
import { useOrg } from "../../app/org";
import { clean } from "../../ui/clean";
import { Dialog } from "../../ui/Dialog";
import { count, money } from "../../ui/format";
import { Loaded } from "../../ui/Loaded";
import { words } from "../../words/en";
import { type Item, priceQuery } from "./queries";

const w = words.usage;

interface PriceProps {
  model: string;
  item: Item | undefined;
  onClose: () => void;
}

/** Price says why a model costs what it costs. */
export function Price({ model, item, onClose }: PriceProps) {
  const query = useQuery(priceQuery(useOrg().id, model, item));
  return (
    <Dialog open onClose={onClose} title={w.whyOf(clean(model, 60))}>
      <Loaded query={query}>{(price) => <Why price={price} item={item} />}</Loaded>
    </Dialog>
  );
}

function Why({ price, item }: { price: Body<"PriceBody">; item: Item | undefined }) {
  if (!price.known) {
    return (
      <div className="stack tight">
        <p>{w.noPrice(clean(price.model, 60))}</p>
        <p className="muted">{w.noPriceHelp}</p>
      </div>
    );
  }
  return (
    <div className="stack tight">
      <p>
        {w.pricedAs(price.pricedAs, price.vendor)}
        {price.date && `, ${w.pricesOf(price.date)}`}.
      </p>
      <Rates price={price} />
      <p className="muted">{price.inputIncludesCache ? w.includes : w.excludes}</p>
      {item && (
        <>
          <p>{w.byTable(money(ordinaryCost(price, item)))}</p>
          <p className="muted">{w.counted(money(item.costUsd))}</p>
        </>
      )}
    </div>
  );
}

/** ordinaryCost is what tokens cost if no prompt was long: how long each was is not known of a sum. */
export function ordinaryCost({ rates, chargedInputTokens }: Body<"PriceBody">, item: Item): number {
  const millions =
    chargedInputTokens * rates.input +
    item.outputTokens * rates.output +
    item.cacheReadTokens * rates.cacheRead +
    item.cacheWriteTokens * rates.cacheWrite;
  return millions / 1e6;
}

function Rates({ price }: { price: Body<"PriceBody"> }) {
  const rows = [
    [w.any, price.rates] as const,
    ...(price.above ? [[w.long(count(price.above.tokens)), price.above.rates] as const] : []),
  ];
  return (
    <div className="usage-table" tabIndex={0} role="region" aria-label={w.perMillion}>
      <table>
        <caption className="small faint">{w.perMillion}</caption>
        <thead>
          <tr>
            <td />
            <th scope="col" className="number">
              {w.columns.input}
            </th>
            <th scope="col" className="number">
              {w.columns.output}
            </th>
            <th scope="col" className="number">
              {w.columns.cacheRead}
            </th>
            <th scope="col" className="number">
              {w.columns.cacheWrite}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, rates]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td className="number">{money(rates.input)}</td>
              <td className="number">{money(rates.output)}</td>
              <td className="number">{money(rates.cacheRead)}</td>
              <td className="number">{money(rates.cacheWrite)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
