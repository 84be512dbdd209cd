import { absolute } from "../../ui/format";

/** ago is when something was, within a sentence. */
export const ago = (at: string) => absolute(Date.parse(at));
