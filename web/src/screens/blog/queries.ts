import { queryOptions } from "@tanstack/react-query";
import { api } from "../../api/client";
import { statusOf } from "../../api/errors";
import { listQuery } from "../../app/queries";

export const publishedQuery = listQuery(["blog"], (cursor, signal) =>
  api.get("/blog", { params: { query: { limit: 20, ...(cursor ? { cursor } : {}) } }, signal }),
);

/** articleQuery reads a published post; null: there is none. */
export const articleQuery = (slug: string) =>
  queryOptions({
    queryKey: ["blog", slug],
    queryFn: ({ signal }) =>
      api.get("/blog/{slug}", { params: { path: { slug } }, signal }).catch((error) => {
        if (statusOf(error) === 404) return null;
        throw error;
      }),
  });
