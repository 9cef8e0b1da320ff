"""The page that a browser is shown at the control address: one HTML file, one style sheet, modules without a build."""
