"""Beside a script that imports it."""

import cv2_that_is_not_there

something = cv2_that_is_not_there
