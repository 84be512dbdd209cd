import { Link } from "@tanstack/react-router";
import { linkTo } from "../../app/link";
import { AgentText } from "../../ui/AgentText";
import { count, money, percent } from "../../ui/format";
import type { Bounds } from "../../ui/range";
import { words } from "../../words/en";
import { filterOf, type Group, type Item, other } from "./queries";

const w = words.usage;
const c = w.columns;

interface ItemsProps {
  by: Group;
  items: Item[];
  bounds: Bounds;
}

/** Items is what used tokens, the dearest first. */
export function Items({ by, items, bounds }: ItemsProps) {
  const sum = (of: (item: Item) => number) => items.reduce((all, item) => all + of(item), 0);
  const cost = sum((i) => i.costUsd);
  return (
    <>
      <div className="usage-table" tabIndex={0} role="region" aria-label={w.title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{w.groups[by]}</th>
              <th scope="col" className="number">
                {c.cost}
              </th>
              <th scope="col" className="number">
                {c.share}
              </th>
              <th scope="col" className="number">
                {c.input}
              </th>
              <th scope="col" className="number">
                {c.output}
              </th>
              <th scope="col" className="number">
                {c.cacheRead}
              </th>
              <th scope="col" className="number">
                {c.cacheWrite}
              </th>
              {by === "model" && (
                <th scope="col">
                  <span className="hidden-text">{w.why}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <Row key={item.key} by={by} item={item} cost={cost} bounds={bounds} />
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{w.inAll}</th>
              <td className="number">{money(cost)}</td>
              <td />
              <td className="number">{count(sum((i) => i.inputTokens))}</td>
              <td className="number">{count(sum((i) => i.outputTokens))}</td>
              <td className="number">{count(sum((i) => i.cacheReadTokens))}</td>
              <td className="number">{count(sum((i) => i.cacheWriteTokens))}</td>
              {by === "model" && <td />}
            </tr>
          </tfoot>
        </table>
      </div>
      <p className="small faint">{w.cacheNote}</p>
    </>
  );
}

function Row({ by, item, cost, bounds }: { by: Group; item: Item; cost: number; bounds: Bounds }) {
  const filter = filterOf(by, item.key);
  const name = item.key === other ? w.other : item.key || w.unnamed;
  return (
    <tr>
      <th scope="row">
        {filter ? (
          <Link {...linkTo("/traces", { from: bounds.from, to: bounds.until, ...filter })}>
            <AgentText text={name} line />
          </Link>
        ) : (
          name
        )}
      </th>
      <td className="number">{money(item.costUsd)}</td>
      <td className="number">
        <span className="share">
          <span className="bar-track" aria-hidden>
            <span className="bar-fill" style={{ inlineSize: percent(item.costUsd, cost) }} />
          </span>
          {percent(item.costUsd, cost)}
        </span>
      </td>
      <td className="number">{count(item.inputTokens)}</td>
      <td className="number">{count(item.outputTokens)}</td>
      <td className="number">{count(item.cacheReadTokens)}</td>
      <td className="number">{count(item.cacheWriteTokens)}</td>
      {by === "model" && (
        <td>
          {filter && (
            <Link to="/usage" search={(old: object) => ({ ...old, price: item.key })} resetScroll={false}>
              {w.why}
            </Link>
          )}
        </td>
      )}
    </tr>
  );
}
