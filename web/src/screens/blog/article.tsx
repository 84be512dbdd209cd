import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Body } from "../../api/client";
import { AgentText } from "../../ui/AgentText";
import { Article } from "../../ui/article/Article";
import { Loaded } from "../../ui/Loaded";
import { Empty } from "../../ui/states";
import { Time } from "../../ui/Time";
import { blog as w } from "../../words/blog";
import { Reading } from "./parts";
import { articleQuery } from "./queries";

const route = getRouteApi("/bare/blog/$slug");

/** BlogArticle is one published post. */
export function BlogArticle() {
  const { slug } = route.useParams();
  const post = useQuery(articleQuery(slug));
  return (
    <Reading title={post.data?.title ?? w.title}>
      <Loaded query={post}>
        {(found) =>
          found === null ? (
            <Empty title={w.missing} action={<Link to="/blog">{w.all}</Link>}>
              {w.missingHelp}
            </Empty>
          ) : (
            <Post post={found} />
          )
        }
      </Loaded>
    </Reading>
  );
}

function Post({ post }: { post: Body<"PublishedBody"> }) {
  return (
    <>
      <header className="stack tight">
        <h1>
          <AgentText text={post.title} short />
        </h1>
        <p className="small faint">
          {w.published} <Time at={post.publishedAt} form="absolute" />
          {post.updatedAt > post.publishedAt && (
            <>
              , {w.changed} <Time at={post.updatedAt} form="absolute" />
            </>
          )}
        </p>
      </header>
      <Article html={post.html} />
      <p>
        <Link to="/blog">{w.all}</Link>
      </p>
    </>
  );
}
