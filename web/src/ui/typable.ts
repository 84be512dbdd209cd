/** typable reports whether people can type a name as it is. */
export const typable = (name: string) => /^[\x21-\x7e]([\x20-\x7e]{0,38}[\x21-\x7e])?$/.test(name);
