// Decides {{decides}}. Each decision is in a file of its own; what is exported here is what the component answers.
{{imports}}
import { answer } from './settings.js';

{{reexports}}

export const settings = answer([{{settings}}]);
