// Puts a host in memory in place of the imports of a component, so that tests need no WebAssembly.
import { register } from 'node:module';

register('./resolve.mjs', import.meta.url);
