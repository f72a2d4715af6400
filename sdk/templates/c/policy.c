// Decides {{decides}}. Each decision is in a file of its own, with its settings.
{{declarations}}

void all_settings(void) {
{{calls}}
}
