// Every interface of `baton:policy` is the host in memory.
export function resolve(specifier, context, next) {
  if (!specifier.startsWith('baton:policy/')) return next(specifier, context);
  return { url: new URL('./host.mjs', import.meta.url).href, shortCircuit: true };
}
